#!/usr/bin/env bash
# A wheel as a user meets it: clean_root.sh SUITE WHEEL [WORK] [TORCH]
#   SUITE  a Debian suite: bookworm, trixie, sid (bullseye: its Python is too old, but its C library is tried)
#   WORK   where roots are made and kept (build/roots)
#   TORCH  a requirement such as torch==2.13.0: then a torch program is profiled too
# Debian with Python and nothing else (no compiler, no clone), `pip install WHEEL`, then run, report, insights and show.
# Needs root and debootstrap. Prints the seconds of each step.
set -euo pipefail
suite=$1 wheel=$(readlink -f "$2") work=${3:-build/roots} torch=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work"
root=$(cd "$work" && pwd)/$suite

if [ ! -e "$root/etc/debian_version" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" > "$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; exit 1; }
fi
for tool in cc gcc g++ clang c++ cmake make; do
  [ ! -e "$root/usr/bin/$tool" ] || { echo "$root is not clean: it has $tool" >&2; exit 1; }
done

# Where pip of this machine finds packages, so that the root finds the same ones.
mapfile -t folders < <(python3 -m pip config list 2>/dev/null | grep -oE "/[a-zA-Z0-9_./-]+" | sort -u)
rm -rf "$root/work" && mkdir -p "$root/work"
cp "$wheel" "$here/inside.sh" "$here/busy.py" "$here/busy_torch.py" "$root/work/"
export suite root torch
unshare --mount --propagation private bash -eu -c '
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
  touch "$root/etc/resolv.conf"; mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
  for path in /etc/ssl/certs /etc/pip.conf "$@"; do
    [ -e "$path" ] || continue
    if [ -d "$path" ]; then mkdir -p "$root$path"; else mkdir -p "$(dirname "$root$path")"; touch "$root$path"; fi
    mount --bind "$path" "$root$path"
  done
  exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 TORCH="$torch" SUITE="$suite" \
    $(env | grep -E "^(PIP_|SSL_CERT|REQUESTS_CA)" | xargs) bash -eu /work/inside.sh
' - "${folders[@]}"
