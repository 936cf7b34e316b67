#!/usr/bin/env bash
# An environment for tests that need more than Sonde's own: make.sh LIST TARGET PYTHON BASE TORCH
#   LIST    requirements; "# alone" in its first line: without what BASE holds
#   TARGET  the environment, made anew
#   BASE    the environment of the tests, whose packages (torch, numpy …) are seen from TARGET, so that none comes twice
#   TORCH   torch==2.13.0: no package may bring another
set -euo pipefail
list=$1 target=$2 python=$3 base=$4 torch=$5
echo "[set-up] $(basename "$target"): $(grep -v '^#' "$list" | paste -sd' ')" >&2
rm -rf "$target"
"$python" -m venv "$target"
if ! head -n 1 "$list" | grep -q '^# alone'; then
  site() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
  site "$base/bin/python" > "$(site "$target/bin/python")/tests-base.pth"
fi
echo "$torch" > "$target/constraints.txt"
"$target/bin/python" -m pip install -qq --disable-pip-version-check -c "$target/constraints.txt" -r "$list"
touch "$target/ready"
