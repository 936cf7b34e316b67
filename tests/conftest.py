"""Settings for all tests."""

import signal

from hypothesis import settings

from tests.skips import (  # noqa: F401 pytest finds hooks by their names
    pytest_addoption,
    pytest_configure,
    pytest_make_collect_report,
    pytest_runtest_makereport,
)

# Wall time says nothing on a shared machine: an example that waits for a CPU is not a failure.
settings.register_profile("sonde", deadline=None)
settings.load_profile("sonde")

# Tests that run in the background of a shell inherit an ignored SIGINT, and so would the programs that they interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
