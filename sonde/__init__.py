"""Sonde: a profiler that goes down through every layer of a deep-learning program.

Importing this package imports neither torch nor anything heavy.
"""

__version__ = "0.1.0"
