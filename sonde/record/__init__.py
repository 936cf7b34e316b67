"""Recording, in three rooms: `outside` the program, `inside` it, and what each of the `frameworks` adds to both."""
