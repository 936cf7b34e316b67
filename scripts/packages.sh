#!/usr/bin/env bash
# Makes sure that the programs named on the command line are there: packages.sh NEEDED… [-- WANTED…]
# NEEDED ones are an error when they can be neither found nor installed; WANTED ones only a message:
# the tests that use them skip and say so.
set -euo pipefail
declare -A package=([g++]=g++ [cmake]=cmake [gdb]=gdb [chromium]=chromium [perf]=linux-perf [make]=make [debootstrap]=debootstrap
  [clang++]=clang [musl-gcc]=musl-tools [libomp]=libomp-dev [node]=nodejs [npm]=npm [firefox-esr]=firefox-esr
  [libjemalloc]=libjemalloc2 [promtool]=prometheus)

# libomp is a library that clang finds in its own folder, libjemalloc one that a test preloads; everything else is a program.
is_here() {
  case "$1" in
    libomp) compgen -G '/usr/lib/llvm-*/lib/libomp.so*' >/dev/null ;;
    libjemalloc) compgen -G '/usr/lib/*/libjemalloc.so.2' >/dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}
missing_of() { for program in "$@"; do is_here "$program" || printf '%s\n' "$program"; done; }
needed=() wanted=() target=needed
for word in "$@"; do
  if [ "$word" = -- ]; then target=wanted; else declare -n list=$target; list+=("$word"); fi
done
mapfile -t absent < <(missing_of "${needed[@]}" "${wanted[@]}")
[ ${#absent[@]} -eq 0 ] && exit 0
names=(); for program in "${absent[@]}"; do names+=("${package[$program]:-$program}"); done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "[set-up] Debian packages: ${names[*]}" >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${names[@]}"; } \
    >/dev/null 2>&1 || true
fi
mapfile -t absent < <(missing_of "${wanted[@]}")
[ ${#absent[@]} -eq 0 ] || echo "[set-up] not here, so tests that use them are skipped: ${absent[*]}" >&2
mapfile -t absent < <(missing_of "${needed[@]}")
if [ ${#absent[@]} -ne 0 ]; then
  names=(); for program in "${absent[@]}"; do names+=("${package[$program]:-$program}"); done
  echo "Missing: ${absent[*]}. Install them, for example: sudo apt-get install ${names[*]}" >&2
  exit 4
fi
