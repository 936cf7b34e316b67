# The part of clean_root.sh that runs inside the root.
cd /work
fail() { echo "FAILED $SUITE: $*" >&2; exit 1; }
timed() { # NAME COMMAND…: run it, keep its output in NAME.out, print its seconds
  local name=$1 before after; shift
  before=$(date +%s%N)
  "$@" > "$name.out" 2>&1 || { tail -n 20 "$name.out" >&2; fail "$name"; }
  after=$(date +%s%N)
  printf '%-10s %-22s %6.1f s\n' "$SUITE" "$name" "$(((after - before) / 1000000))e-3"
}
says() { grep -qE -- "$2" "$1.out" || { cat "$1.out" >&2; fail "$1 does not say: $2"; }; }

glibc=$(ldd --version | head -n 1 | grep -oE '[0-9.]+$')
echo "$SUITE: glibc $glibc, $(python3 --version)"
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  # Too old for the package, not for the libraries.
  python3 -m venv old
  old/bin/pip install --no-deps ./*.whl > refused.out 2>&1 && fail "installed on $(python3 --version)"
  says refused 'requires a different Python'
  old/bin/pip install -q --no-deps --ignore-requires-python ./*.whl
  native=$(echo old/lib/python3*/site-packages/sonde/_native)
  for library in "$native"/*.so; do python3 -c "import ctypes, sys; ctypes.CDLL(sys.argv[1])" "$PWD/$library"; done
  [ "$(LD_PRELOAD="$PWD/$native/libsonde_agent.so" python3 -c 'print(6 * 7)' 2>&1)" = 42 ] || fail "agent on glibc $glibc"
  echo "$SUITE: Python too old and refused; all libraries load, a program with the agent inside runs"
  exit 0
fi

start=$(date +%s)
timed venv python3 -m venv env
timed pip-install env/bin/pip install ./*.whl
export PATH="$PWD/env/bin:$PATH"
timed run sonde run -o busy.sonde busy.py
says run 'busy: done'
says run '(99|100)\.[0-9] % of CPU time accounted'
# Not "nothing lost": on Debian's own python3.13, which has no symbols, 11 of 206 stacks are merged inexactly.
says run '(99|100)\.[0-9] % of stacks complete'
timed report sonde report busy.sonde -o busy.html
[ "$(wc -c < busy.html)" -gt 100000 ] || fail "the page is empty"
timed insights sonde insights busy.sonde
timed show sonde show busy.sonde stacks
says show 'hot_loop'
echo "$SUITE: from pip install to the report, insights and a view in $(($(date +%s) - start)) s"
timed check sonde check
timed demo sonde demo
[ -n "$TORCH" ] || says demo 'torch is not installed'
if [ -n "$TORCH" ]; then
  timed torch-install env/bin/pip install "$TORCH"
  timed torch-run sonde run -o torch.sonde busy_torch.py
  timed torch-show sonde show torch.sonde ops
  says torch-show 'aten::addmm'
fi
echo "$SUITE: ok"
