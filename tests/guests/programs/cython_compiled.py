"""A Cython module, compiled here, with a parallel loop without the GIL and calls back into Python."""

import importlib.util
import sys
import tempfile
from pathlib import Path

SOURCE = """
# cython: language_level=3, boundscheck=False, cdivision=True
from cython.parallel cimport prange

cdef long long steps(long long n) noexcept nogil:
    cdef long long count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count

def total(int limit):
    cdef long long result = 0
    cdef int i
    for i in prange(1, limit, nogil=True, num_threads=2):
        result += steps(i)
    return result

def each(function, int count):
    cdef int i
    result = 0
    for i in range(count):
        result = function(result, i)
    return result
"""


def compiled(folder):
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    source = folder / "guest_loops.pyx"
    source.write_text(SOURCE)
    flags = ["-O1", "-fopenmp", "-w"]
    extension = Extension(
        "guest_loops", [str(source)], extra_compile_args=flags, extra_link_args=["-fopenmp"]
    )
    made = cythonize([extension], quiet=True, build_dir=str(folder))
    command = Distribution({"name": "guest_loops", "ext_modules": made}).get_command_obj("build_ext")
    command.build_lib, command.build_temp, command.verbose = str(folder), str(folder), 0
    command.ensure_finalized()
    command.run()
    return next(folder.glob("guest_loops*.so"))


def main():
    with tempfile.TemporaryDirectory(prefix="sonde-guest-") as place:
        path = compiled(Path(place))
        spec = importlib.util.spec_from_file_location("guest_loops", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["guest_loops"] = module
        spec.loader.exec_module(module)
        print("steps", module.total(700_000))
        print("calls", module.each(lambda a, i: (a * 31 + i) % 1_000_003, 1_500_000))


main()
