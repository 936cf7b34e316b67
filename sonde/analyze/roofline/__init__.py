"""Work against what the machine can do."""
