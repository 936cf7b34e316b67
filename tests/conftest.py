"""Settings for all tests."""

from hypothesis import settings

# Wall time says nothing on a shared machine: an example that waits for a CPU is not a failure.
settings.register_profile("sonde", deadline=None)
settings.load_profile("sonde")
