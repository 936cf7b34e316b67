"""Steps of a program or trace: how long, which are warm-up, what they are made of."""
