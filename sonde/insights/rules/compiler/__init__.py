"""torch.compile falls out of its graph, or compiles again."""
