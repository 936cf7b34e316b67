"""Operator calls: the table, their costs and arguments."""
