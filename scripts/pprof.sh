#!/usr/bin/env bash
# Makes `go tool pprof` available to the tests: pprof.sh TARGET
# The tool is one file of Debian's Go, so that file alone is taken out of the package (63 MB to load,
# 10 MB kept, 8 s) and nothing is installed. Where that fails the tests that use it skip and say so.
set -euo pipefail
target=$1
[ -x "$target" ] && exit 0
mkdir -p "$(dirname "$target")"
if command -v pprof >/dev/null; then ln -sf "$(command -v pprof)" "$target"; exit 0; fi
if command -v go >/dev/null && tool=$(go tool -n pprof 2>/dev/null); then ln -sf "$tool" "$target"; exit 0; fi
skip() { echo "[set-up] no go tool pprof ($1), so tests that use it are skipped" >&2; exit 0; }
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "not on Debian"
echo "[set-up] go tool pprof" >&2
package=$(apt-cache depends golang-go 2>/dev/null | awk '/Depends: golang-[0-9.]+-go/ {print $2; exit}')
[ -n "$package" ] || skip "no golang-go in the package lists"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get download -qq "$package" >/dev/null 2>&1) || skip "cannot load $package"
dpkg-deb --fsys-tarfile "$folder"/*.deb | tar x -C "$folder" --wildcards '*/pkg/tool/*/pprof' 2>/dev/null || skip "$package has no pprof"
mv "$(find "$folder" -name pprof -type f)" "$target"
