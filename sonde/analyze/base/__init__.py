"""What every analysis stands on: stretches of time, nesting, grouping, counting."""
