"""The step waits for its batch."""
