#!/usr/bin/env bash
# What profiling costs with the clone's build and with a wheel's, in turns: overhead.sh WHEEL WORK [SECONDS] [ROUNDS]
# WORK is the folder of suite.sh (its environment and tree are used; they are made when missing). Prints the in-process
# estimates of benchmarks/suites/overhead.py; its result files stay in WORK.
set -euo pipefail
wheel=$(readlink -f "$1") work=$2 seconds=${3:-60} rounds=${4:-3}
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -d "$work/tree" ] || "$root/scripts/wheel/suite.sh" "$wheel" "$work" python3 'torch==2.13.0' --collect-only > /dev/null
work=$(cd "$work" && pwd)
measure() { # NAME PYTHON; both in the tree without a `sonde` folder: each Python finds its own
  (cd "$work/tree" && "$2" -m benchmarks overhead --rounds 0 --inside "$seconds" --only "sonde 100 Hz" "sonde 1000 Hz") |
    grep '^in process' | sed "s/^in process/$1/"
}
for round in $(seq "$rounds"); do
  echo "round $round"
  measure "gcc  " "$root/.venv/bin/python"
  measure "wheel" "$work/venv/bin/python"
done
