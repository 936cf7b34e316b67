"""Runs one of CPython's own test modules and appends `id<TAB>outcome` to a file after each test.

Usage: outcomes.py MODULE FILE. Written test by test, so that a crash shows as what is missing. Runs on any
Python from 3.8 on, without Sonde. What a failure said goes to FILE.txt.
"""

import importlib
import sys
import types
import unittest


class Outcomes(unittest.TextTestResult):
    """Notes every outcome; a subtest that fails is its test's failure."""

    def note(self, test, outcome, error=None):
        identity = getattr(test, "test_case", test).id()
        with open(sys.argv[2], "a") as out:
            out.write(f"{identity}\t{outcome}\n")
        if error is not None:
            with open(sys.argv[2] + ".txt", "a") as out:
                out.write(f"=== {identity} {outcome}\n{self._exc_info_to_string(error, test)}\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "error", err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "unexpected success")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failed", err)


def module_named(name):
    """test.NAME; some distributions leave out the thin files that only choose a start method."""
    try:
        return importlib.import_module(f"test.{name}")
    except ModuleNotFoundError:
        family, _, method = name.rpartition("_")
        if family != "test_multiprocessing":
            raise
    from test import _test_multiprocessing

    module = types.ModuleType(f"test.{name}")
    _test_multiprocessing.install_tests_in_module_dict(module.__dict__, method)
    sys.modules[module.__name__] = module
    return module


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(module_named(sys.argv[1]))
    unittest.TextTestRunner(resultclass=Outcomes, verbosity=0).run(suite)
    with open(sys.argv[2], "a") as out:
        out.write("the end\treached\n")


if __name__ == "__main__":
    main()
