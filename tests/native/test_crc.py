"""The reader's CRC-32 against zlib's, for every length around the sizes at which it changes its method."""

from __future__ import annotations

import ctypes
import random
import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "native/tools/trace"
DOOR = """
#include "trace/crc.h"
extern "C" unsigned crc(unsigned so_far, const unsigned char* data, unsigned long size) {
  return sonde::trace::crc32(so_far, data, size);
}
"""


def test_it_is_the_crc_of_zlib(tmp_path: Path) -> None:
    door = tmp_path / "door.cpp"
    door.write_text(DOOR)
    sources = [door, TRACE / "crc.cpp", TRACE / "crc_fold.cpp"]
    flags = ["-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'native/tools'}"]
    subprocess.run(["g++", *flags, *sources, "-o", tmp_path / "crc.so"], check=True)
    crc = ctypes.CDLL(str(tmp_path / "crc.so")).crc
    crc.restype = ctypes.c_uint32
    crc.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_ulong]
    data = random.Random(1).randbytes(70_000)
    for size in [*range(400), 4095, 4096, 65_535, 65_536, 70_000]:
        assert crc(0, data[:size], size) == zlib.crc32(data[:size]), size
    for cut in range(0, 300, 7):  # in two pieces, from any position
        first = crc(0, data[:cut], cut)
        assert crc(first, data[cut:1000], 1000 - cut) == zlib.crc32(data[:1000]), cut
