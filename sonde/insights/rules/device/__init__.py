"""A GPU that waits, or runs what it is not good at."""
