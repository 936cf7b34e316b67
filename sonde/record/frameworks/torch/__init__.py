"""torch in Python programs."""
