"""The pictures in docs, all from one build: `make pictures`, about two minutes on an idle machine.

In: examples/gpt.py and vae.py, recorded with one thread; a public trace of a ResNet-50 on a V100, where it is here
(SONDE_DATA). Out: docs/images/*.png, and docs/images/made.json, which says of which page they are. `outdated`
compares that with the page of today; `make test` prints it. Needs node, Chromium and web/node_modules.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from tests.environments import data_folder

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
STAMP = IMAGES / "made.json"
TRACE = "traces/kineto_tb/resnet50_nw4_a.json.gz"
# Page, prefix of its pictures, views. Odd ones are light, even ones dark.
PICTURES = [
    ("gpt", "gpt", ["overview", "flame"]),
    ("vae", "vae", ["flame"]),
    ("difference", "vae", ["diff"]),
    ("gpu", "gpu", ["timeline"]),
]


def page_hash() -> str:
    """Hash of what the page is made of, as the bundle carries it."""
    spec = importlib.util.spec_from_file_location("check_bundle", ROOT / "web" / "check_bundle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.source_hash())


def outdated() -> list[str]:
    """The pictures that were taken of another page than today's."""
    taken = json.loads(STAMP.read_text(encoding="utf-8")) if STAMP.exists() else {}
    today = page_hash()
    return [
        path.name for path in sorted(IMAGES.glob("*.png")) if taken.get(path.name, {}).get("page") != today
    ]


def sonde(folder: Path, *words: str, **variables: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "sonde", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"sonde {' '.join(words)}: {done.stderr.strip()}")


def make_pages(folder: Path) -> None:
    """The reports to take pictures of, as NAME.html in `folder`; that of the trace only where the trace is here."""
    gpt, vae = (str(ROOT / "examples" / f"{name}.py") for name in ("gpt", "vae"))
    sonde(folder, "run", "--quiet", "-o", "gpt.sonde", gpt)
    sonde(folder, "run", "--quiet", "-o", "vae.sonde", vae)
    sonde(folder, "run", "--quiet", "-o", "plain.sonde", vae, ATEN_CPU_CAPABILITY="default")
    sonde(folder, "report", "gpt.sonde", "-o", "gpt.html")
    sonde(folder, "report", "vae.sonde", "-o", "vae.html")
    sonde(folder, "diff", "plain.sonde", "vae.sonde", "--html", "difference.html")
    data = data_folder()
    if data is None:
        print(
            "no folder of real traces (SONDE_DATA): the picture of the GPU trace stays as it was",
            file=sys.stderr,
        )
    else:
        sonde(folder, "report", str(data / TRACE), "-o", "gpu.html")


def main() -> int:
    taken = json.loads(STAMP.read_text(encoding="utf-8")) if STAMP.exists() else {}
    script = ROOT / "tests" / "browser" / "screenshots.mjs"
    with tempfile.TemporaryDirectory() as name:
        make_pages(Path(name))
        for page, prefix, views in PICTURES:
            path = Path(name) / f"{page}.html"
            if not path.exists():
                continue
            subprocess.run(["node", script, path, IMAGES, prefix, *views], cwd=script.parent, check=True)
            made = datetime.now(timezone.utc).date().isoformat()
            taken |= {f"{prefix}-{view}.png": {"page": page_hash(), "made": made} for view in views}
    STAMP.write_text(json.dumps(dict(sorted(taken.items())), indent=1) + "\n", encoding="utf-8")
    for picture in outdated():
        print(f"still of an older page: {picture}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
