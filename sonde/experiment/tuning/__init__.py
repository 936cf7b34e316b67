"""Find better settings."""
