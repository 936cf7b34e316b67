"""Many trace files: the ranks of one job."""
