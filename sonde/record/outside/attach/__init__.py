"""A program that already runs as a target: the agent is put into it, records, and leaves."""
