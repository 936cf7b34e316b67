"""`sonde pack`: one file to send, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonde.cli.inputs import fresh_path
from sonde.errors import UsageError


class Pack:
    """Put a recording into one file to send, or unpack such a file.

    sonde pack train.sonde                writes train.sonde.zip
    sonde pack --unpack train.sonde.zip   restores the folder

    Only the recording's own files are packed; links are refused.
    Every command can read the packed file directly.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("recording", type=Path, metavar="REC", help="the recording, or the packed file")
        parser.add_argument("-o", "--output", type=Path, metavar="PATH", help="where to write")
        parser.add_argument("--unpack", action="store_true", help="unpack instead")
        parser.add_argument("--raw", action="store_true", help="pack the raw logs too")
        parser.add_argument("--force", action="store_true", help="overwrite the output")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.store import pack
        from sonde.store.reader import open_recording

        source: Path = options.recording
        if options.unpack:
            return _unpack(options)
        open_recording(source)  # says what is wrong before anything is written
        if not source.is_dir():
            raise UsageError(f"{source} is already packed")
        target = fresh_path(options.output, source.with_name(f"{source.stem}{pack.SUFFIX}"), options.force)
        written = pack.pack(source, target, raw=options.raw)
        print(f"{target}  {written / 1e6:.1f} MB")
        return 0


def _unpack(options: argparse.Namespace) -> int:
    import tempfile

    from sonde.errors import InputError
    from sonde.store import pack
    from sonde.store.archive import is_packed

    source: Path = options.recording
    if not is_packed(source):
        raise InputError(f"{source} is not a packed recording")
    default = source.with_name(source.name.removesuffix(".zip"))
    target = fresh_path(options.output, default, options.force)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        pack.unpack(source, Path(folder)).rename(target)
    print(target)
    return 0
