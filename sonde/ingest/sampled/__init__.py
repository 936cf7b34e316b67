"""Stack samples of other tools: perf script, speedscope, collapsed."""
