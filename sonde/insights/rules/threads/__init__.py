"""Threads against the CPUs they may use."""
