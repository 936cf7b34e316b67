#!/usr/bin/env bash
# The test suite against an installed wheel: suite.sh WHEEL WORK PYTHON TORCH [TESTS…]
# The clone without its `sonde` folder is copied to WORK/tree, and the wheel installed in WORK/venv, so that
# `import sonde` and `python -m sonde` can find nothing but the wheel's. SITE, if set, is a folder of packages (numpy,
# torch, pytest …) to borrow instead of installing them.
set -euo pipefail
wheel=$(readlink -f "$1") work=$2 python=$3 torch=$4
shift 4
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd) tree=$work/tree venv=$work/venv
rm -rf "$tree" && mkdir "$tree"
git -C "$root" ls-files -z -- . ':!sonde' | tar -C "$root" --null -T - -c | tar -C "$tree" -x
[ ! -d "$root/.make/pprof" ] || { mkdir "$tree/.make" && cp -a "$root/.make/pprof" "$tree/.make/"; }
cd "$tree"
if [ -n "${SITE:-}" ]; then
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  echo "$SITE" > "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/zz-borrowed.pth"
  "$venv/bin/python" -m pip install -qq --no-deps --force-reinstall "$wheel"
else
  scripts/environment.sh "$venv" "$python" test "$torch" "$wheel"
fi
found=$(cd / && "$venv/bin/python" -c 'import sonde.native; print(sonde.native.agent_path())')
case $found in "$venv"/*) echo "[suite] $found" >&2 ;; *) echo "not the wheel's: $found" >&2; exit 1 ;; esac
SONDE_WHEEL=$wheel exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "${@:-tests}"
