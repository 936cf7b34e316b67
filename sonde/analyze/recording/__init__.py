"""The recording itself: how good it is, what it cost, what was compiled."""
