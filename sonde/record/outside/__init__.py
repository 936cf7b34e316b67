"""Recording from outside: the target (a command), its environment, its end, and the tables made of what it left."""
