"""Time of the host: Python, dispatch, bookkeeping, things done every step that need not be."""
