"""The account of a step: its wall time divided into slices, who × kind of work, without a remainder."""
