"""Pages, nodes and growth of memory."""
