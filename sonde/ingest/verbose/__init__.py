"""Verbose logs of oneDNN and MKL."""
