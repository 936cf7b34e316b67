"""What the observers inside the program left in raw/: marks, windows, lines, modules, calls."""
