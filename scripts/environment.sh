#!/usr/bin/env bash
# Makes the virtual environment of this clone: environment.sh VENV PYTHON KIND TORCH [WHEEL]
# KIND demo: what the demo needs. KIND test: that, and the tools of `make test` and `make lint`.
# KIND bench: that, and the tools that Sonde is measured beside.
# The clone itself is put on the environment's path, so that there is one copy of Sonde; with WHEEL that is installed instead.
set -euo pipefail
venv=$1 python=$2 kind=$3 torch=$4 wheel=${5:-}

say() { printf '\033[2m[set-up]\033[0m %s\n' "$*" >&2; }

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  echo "Sonde needs Python 3.10 or newer; '$python' is $("$python" --version 2>&1 || echo missing)." >&2
  echo "Install one, then: make PYTHON=python3.11 $kind" >&2
  exit 4
fi
if [ ! -x "$venv/bin/python" ]; then
  say "virtual environment $venv ($("$python" --version))"
  "$python" -m venv "$venv" || { echo "No venv module: apt-get install python3-venv" >&2; exit 4; }
fi
pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check)
# The packages of one group of pyproject.toml, a line each; "dependencies" and "build" are Sonde's own.
wanted() {
  "$venv/bin/python" - "$1" <<'READ'
import sys
try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib
with open("pyproject.toml", "rb") as file:
    told = tomllib.load(file)
groups = {"dependencies": told["project"]["dependencies"], "build": told["build-system"]["requires"]}
print("\n".join({**groups, **told["project"]["optional-dependencies"]}[sys.argv[1]]))
READ
}
install() { local packages; mapfile -t packages < <(for group in "$@"; do wanted "$group"; done); "${pip[@]}" "${packages[@]}"; }

say "Sonde's dependencies and $torch (a minute or two the first time)"
install dependencies
"${pip[@]}" "$torch"
if [ "$kind" = bench ]; then
  say "the peers that benchmarks measure: py-spy, scalene, austin, orjson, msgspec, pysimdjson, HTA"
  install bench || { echo "Some peers could not be installed; their rows will be missing." >&2; }
fi
if [ "$kind" = test ]; then
  say "tools of the tests: pytest, hypothesis, mypy, ruff, import-linter, readers of other tools' formats"
  install build test top
fi
if [ -n "$wheel" ]; then
  "${pip[@]}" --no-deps --force-reinstall "$wheel"
  exit 0
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pwd > "$site/sonde-clone.pth"
cat > "$venv/bin/sonde" <<SCRIPT
#!$PWD/$venv/bin/python
import sys
from sonde.cli.main import main
sys.exit(main())
SCRIPT
chmod +x "$venv/bin/sonde"
