"""Forks with one thread and all warnings on: from Python 3.12 on, fork warns when a process has more than one."""

import os
import warnings

warnings.simplefilter("always")
for number in range(5):
    child = os.fork()
    if child == 0:
        os._exit(number)
    print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
