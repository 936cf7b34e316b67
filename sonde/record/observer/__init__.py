"""The observer of operator calls in native torch programs: its source, and how it is built for a torch."""
