#!/usr/bin/env bash
# Fuzzes the native readers (traces, raw logs) with address and undefined-behaviour sanitizers.
# usage: native/tests/fuzz/run.sh [SECONDS_EACH=60] [CORPUS_FOLDER]
# With clang: libFuzzer, which grows its corpus in build/fuzz. Without: mutations by standalone.cpp.
set -eu
cd "$(dirname "$0")/../../.."
seconds=${1:-60}
seeds=${2:-${SONDE_DATA:-../shared/data}/traces/malformed}
[ -d "$seeds" ] || seeds=native/tests/fuzz/seeds
flags=(-std=c++20 -O1 -g -fno-omit-frame-pointer -Inative/tools -fno-sanitize-recover=all)
clang=$(command -v clang++ || ls /usr/bin/clang++-* 2>/dev/null | tail -1 || true)
# Without its runtime (libclang-rt-dev) clang compiles, but links nothing that is sanitized.
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' > /tmp/sonde-fuzz-$$.cpp
[ -z "$clang" ] || "$clang" -fsanitize=fuzzer,address /tmp/sonde-fuzz-$$.cpp -o /tmp/sonde-fuzz-$$ 2>/dev/null || clang=
rm -f /tmp/sonde-fuzz-$$ /tmp/sonde-fuzz-$$.cpp
[ -n "$clang" ] || echo "no clang with its sanitizers: mutations with g++ and its own"
for reader in trace rawlog; do
  corpus=build/fuzz/$reader
  mkdir -p "$corpus"
  sources=(native/tools/rawlog/decode.cpp native/tests/fuzz/rawlog_fuzzer.cpp)
  words=()
  if [ $reader = trace ]; then
    sources=(native/tools/trace/*.cpp native/tests/fuzz/trace_fuzzer.cpp)
    words=(-dict=native/tests/fuzz/trace.dict)
    # Real traces, cut to some events of each kind: small inputs are many inputs.
    [ ! -x .venv/bin/python ] || .venv/bin/python -m tests.fuzz.real "$corpus"
  fi
  program=build/fuzz/${reader}_fuzzer
  echo "== $reader"
  if [ -n "$clang" ]; then
    "$clang" "${flags[@]}" -fsanitize=fuzzer,address,undefined "${sources[@]}" -o "$program"
    "$program" "${words[@]}" -max_total_time="$seconds" -max_len=20000 -timeout=10 -rss_limit_mb=1500 \
      -artifact_prefix=build/fuzz/ -print_final_stats=1 "$corpus" "$seeds" native/tests/fuzz/seeds 2>&1 | tail -15
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
  else
    g++ "${flags[@]}" -fsanitize=address,undefined "${sources[@]}" native/tests/fuzz/standalone.cpp -o "$program"
    find "$seeds" native/tests/fuzz/seeds -type f -size -200k -print0 |
      xargs -0 timeout $((seconds * 20)) "$program" -runs=$((seconds * 200))
  fi
done
