"""What is compared, in which order, and whether the machine has room for it."""
