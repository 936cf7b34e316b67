"""One folder per framework: how it is noticed, what observes it in the program, what it leaves, how that is read."""
