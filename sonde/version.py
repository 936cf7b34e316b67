"""The version, apart from the package's front door, so that every stage may read it."""

__version__ = "0.1.0"
