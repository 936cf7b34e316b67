"""How long an arm takes: launches, turns, flips inside one process, and what they tell."""
