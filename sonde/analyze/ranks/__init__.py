"""Several ranks of one job: one clock, who is late, all together."""
