#!/usr/bin/env bash
# Fuzzes the native trace reader with address and undefined-behaviour sanitizers.
# usage: native/tests/fuzz/run.sh [SECONDS=60] [CORPUS_FOLDER]
# With clang: libFuzzer, which grows its corpus in build/fuzz/corpus. Without: mutations by standalone.cpp.
set -eu
cd "$(dirname "$0")/../../.."
seconds=${1:-60}
seeds=${2:-${SONDE_DATA:-../shared/data}/traces/malformed}
mkdir -p build/fuzz/corpus
sources=(native/tools/trace/*.cpp native/tests/fuzz/trace_fuzzer.cpp)
flags=(-std=c++20 -O1 -g -fno-omit-frame-pointer -Inative/tools -fno-sanitize-recover=all)
clang=$(command -v clang++ || ls /usr/bin/clang++-* 2>/dev/null | tail -1 || true)
if [ -n "$clang" ]; then
  "$clang" "${flags[@]}" -fsanitize=fuzzer,address,undefined "${sources[@]}" -o build/fuzz/trace_fuzzer
  build/fuzz/trace_fuzzer -max_total_time="$seconds" -max_len=20000 -timeout=10 -rss_limit_mb=1500 \
    -print_final_stats=1 build/fuzz/corpus "$seeds" native/tests/fuzz/seeds 2>&1 | tail -15
  exit "${PIPESTATUS[0]}"
fi
echo "clang is not installed: mutations with g++ and its sanitizers"
g++ "${flags[@]}" -fsanitize=address,undefined "${sources[@]}" native/tests/fuzz/standalone.cpp \
  -o build/fuzz/trace_fuzzer
find "$seeds" native/tests/fuzz/seeds -type f -size -200k -name '*.json*' -print0 |
  xargs -0 timeout $((seconds * 20)) build/fuzz/trace_fuzzer -runs=$((seconds * 200))
