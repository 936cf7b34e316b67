"""Five real reports to look at: `make gallery` writes them into docs/gallery, which is not committed.

In: examples/vae.py and a pitfall, recorded here; a GPU trace and a job of eight ranks, where the folder of real
traces is here (SONDE_DATA). Out: vae.html, pitfall.html, diff.html, gpu.html, ranks.html. With `--recordings FOLDER`
vae.sonde, plain.sonde and pitfall.sonde are taken from there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from scripts.pictures import ROOT, TRACE, sonde
from tests.environments import data_folder

TARGET = ROOT / "docs" / "gallery"
RANKS = "traces/multirank/megatron_tp8"
PITFALL = "small_ops.py"


def record(folder: Path) -> None:
    """The recordings, in `folder`."""
    vae = str(ROOT / "examples" / "vae.py")
    sonde(folder, "run", "--quiet", "-o", "vae.sonde", vae)
    sonde(folder, "run", "--quiet", "-o", "plain.sonde", vae, ATEN_CPU_CAPABILITY="default")
    sonde(folder, "run", "--quiet", "-o", "pitfall.sonde", str(ROOT / "examples" / "pitfalls" / PITFALL))


def write_pages(folder: Path) -> list[str]:
    """Write all pages that can be; the names of those that cannot, for want of traces."""
    TARGET.mkdir(exist_ok=True)
    for name in ("vae", "pitfall"):
        sonde(folder, "report", f"{name}.sonde", "--force", "-o", str(TARGET / f"{name}.html"))
    sonde(folder, "diff", "plain.sonde", "vae.sonde", "--html", str(TARGET / "diff.html"))
    data = data_folder()
    if data is None:
        return ["gpu", "ranks"]
    for name, trace in (("gpu", TRACE), ("ranks", RANKS)):
        sonde(folder, "report", str(data / trace), "--force", "-o", str(TARGET / f"{name}.html"))
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recordings", type=Path, metavar="FOLDER", help="take the recordings from here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        folder = options.recordings or Path(fresh)
        if options.recordings is None:
            record(folder)
        missing = write_pages(folder)
    for page in sorted(TARGET.glob("*.html")):
        print(f"{page.relative_to(ROOT)}  {page.stat().st_size / 1e6:.2f} MB")
    for name in missing:
        print(f"not made: {name}.html needs a folder of real traces (SONDE_DATA)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
