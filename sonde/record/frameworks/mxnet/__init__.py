"""MXNet."""
