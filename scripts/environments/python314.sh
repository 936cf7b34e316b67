#!/usr/bin/env bash
# Python 3.14 for the tests: python314.sh TARGET makes TARGET/bin/python3.14
# Debian's own build, from its newest suite, with the C library that it wants beside it: packages are taken apart, nothing is
# installed, no root needed (a minute). A python3.14 that is here already is used as it is.
set -euo pipefail
target=$1
mkdir -p "$target/bin"
target=$(cd "$target" && pwd)
for found in "$HOME"/.pyenv/versions/3.14.*/bin/python3.14 /usr/local/bin/python3.14 /usr/bin/python3.14; do
  if [ -x "$found" ]; then ln -sf "$found" "$target/bin/python3.14"; exit 0; fi
done
fail() { echo "Python 3.14 cannot be had here: $1. Install it (pyenv install 3.14), then make again." >&2; exit 4; }
command -v apt-get >/dev/null || fail "not on Debian"
echo "[set-up] Python 3.14, taken out of Debian's packages" >&2

apt=$target/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: > "$apt/status"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/$' || true)
[ -n "$mirror" ] || fail "no Debian mirror among the package sources"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" > "$apt/sources.list"
options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists"
  -o "Dir::State::status=$apt/status" -o "Dir::Cache::archives=$apt/archives" -o Dir::Cache::pkgcache=
  -o Dir::Cache::srcpkgcache= -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1)
{ apt-get "${options[@]}" update -qq &&
  apt-get "${options[@]}" install -y -qq --download-only python3.14-minimal libpython3.14-stdlib; } \
  > "$apt/log" 2>&1 || fail "$(tail -n 1 "$apt/log")"
root=$target/root
rm -rf "$root"
for package in "$apt"/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
rm -rf "$apt"

# Its own loader stands in the program; where the libraries are can only be said by a variable (patchelf has no room for a
# run path in this one), which must not reach programs that Python itself starts: those belong to this machine.
libraries=$root/usr/lib/x86_64-linux-gnu
python3 -m pip install -qq --disable-pip-version-check --root-user-action ignore --target "$target/patchelf" patchelf ||
  fail "no patchelf"
"$target/patchelf/bin/patchelf" --set-interpreter "$libraries/ld-linux-x86-64.so.2" "$root/usr/bin/python3.14"
rm -f "$root/usr/lib/python3.14/sitecustomize.py"
echo 'import os; os.environ.pop("LD_LIBRARY_PATH", None)' > "$root/usr/lib/python3.14/sitecustomize.py"
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$root/usr/bin/python3.14" > "$target/bin/python3.14"
chmod +x "$target/bin/python3.14"
"$target/bin/python3.14" -c 'import ctypes, ssl' || fail "it does not start"
