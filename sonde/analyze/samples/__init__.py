"""Sampled stacks: where time went, in which layer, on which path to the kernel."""
