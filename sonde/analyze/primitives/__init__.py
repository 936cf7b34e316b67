"""oneDNN and MKL calls: what was computed, by which implementation, from where."""
