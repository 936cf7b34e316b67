"""torch.profiler's traces, every generation."""
