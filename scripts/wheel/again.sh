#!/usr/bin/env bash
# Is the build reproducible? again.sh DIST [PYTHON]: builds the same commit in another folder, with tools and caches
# of its own, and compares with DIST byte by byte.
set -euo pipefail
dist=$(cd "$1" && pwd) python=${2:-python3} root=$(cd "$(dirname "$0")/../.." && pwd)
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
mkdir "$other/a folder of another name"
cd "$other/a folder of another name"
# The working tree as git sees it: what `make wheel` has built.
git -C "$root" ls-files -z | tar -C "$root" --null -T - -c | tar x
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)} \
  scripts/wheel/build.sh "$other/dist" "$other/tools" "$python" > /dev/null
if ! diff "$dist/SHA256SUMS" "$other/dist/SHA256SUMS"; then
  echo "[wheel] NOT reproducible: the lines above differ" >&2
  exit 1
fi
echo "[wheel] reproducible: a second build in another folder gave the same bytes"
