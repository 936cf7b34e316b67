"""MXNet's profiler: traces and aggregate tables."""
