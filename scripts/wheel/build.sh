#!/usr/bin/env bash
# Builds what a release uploads, from nothing: build.sh OUT TOOLS [PYTHON]
#   OUT    gets the sdist, the manylinux_2_17_x86_64 wheel built from it, the SBOM and SHA256SUMS
#   TOOLS  the environment of the pinned tools (requirements.txt); made when missing or out of date
# The same sources give the same bytes, in any folder and on any machine: tools are pinned with hashes, times
# come from the last commit, and neither the compiler nor the C library of this machine is used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1 tools=$2 python=${3:-python3}
umask 022

say() { printf '[wheel] %s\n' "$*" >&2; }

mkdir -p "$out" "$(dirname "$tools")"
out=$(cd "$out" && pwd) tools=$(cd "$(dirname "$tools")" && pwd)/$(basename "$tools")
if ! cmp -s "$here/requirements.txt" "$tools/installed.txt"; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "make wheel needs Python 3.11 or newer; $python is $("$python" --version)" >&2; exit 4; }
  say "pinned tools: $(grep -oE '^(ziglang|auditwheel|scikit-build-core)==[0-9.]+' "$here/requirements.txt" | xargs)"
  "$python" -m venv --clear "$tools"
  "$tools/bin/python" -m pip install -qq --disable-pip-version-check --require-hashes --only-binary :all: \
    -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$tools/installed.txt"
fi

export PATH="$tools/bin:$PATH"
export SONDE_ZIG_PYTHON="$tools/bin/python" CC="$here/zig-cc" CXX="$here/zig-c++"
export ZIG_GLOBAL_CACHE_DIR="$tools/zig-cache" ZIG_LOCAL_CACHE_DIR="$tools/zig-cache"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1577836800)}"
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_ARGS CMAKE_CXX_COMPILER_LAUNCHER CMAKE_GENERATOR PYTHONPATH

rm -f "$out"/sonde_profiler-*
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
say "sdist, and a wheel from it"
# Stripped by the pinned linker: `strip` of this machine would write other bytes.
python -m build -q --no-isolation --outdir "$raw" "$root" \
  -C install.strip=false -C cmake.define.CMAKE_SHARED_LINKER_FLAGS=-s > "$raw/log" 2>&1 || { cat "$raw/log" >&2; exit 1; }
python "$here/check.py" "$raw"/sonde_profiler-*-linux_x86_64.whl
python -m wheel tags --remove --platform-tag manylinux_2_17_x86_64 "$raw"/sonde_profiler-*-linux_x86_64.whl > /dev/null
say "what is in it: SBOM"
python "$here/sbom.py" "$raw"/sonde_profiler-*.whl "$here/requirements.txt" "$raw"
cp "$raw"/sonde_profiler-* "$out/"
(cd "$out" && sha256sum sonde_profiler-* | tee SHA256SUMS)
