"""Ranks that wait for each other."""
