"""Predictions against measurements, kept."""
