"""Continuous recording of a job: minutes for ever, the last minutes in full, a recording when something is unusual."""
