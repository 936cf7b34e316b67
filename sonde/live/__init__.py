"""Looking into a program that already runs: nothing is loaded into it, nothing of it is changed."""
