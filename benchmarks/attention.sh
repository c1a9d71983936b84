#!/usr/bin/env bash
# Every registered attention: time and memory while one sequence grows, and speed against a straightforward composition
# of LibTorch's operations, as Markdown tables with the machine that gave them.
#
#   [BUILD=build/release] benchmarks/attention.sh [--max-tokens 65536] [--cell-seconds 60] [--repetitions 5]
#     [--threads 2] [--only linear,cosformer] [--skip-growth] [--skip-speed]
#     [--patient]
#
# --patient leaves no cell out for the time it takes (hours on two cores); memory still bounds the batch.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
ninja -C "$build" lra_attention_benchmark >&2
echo "$(grep -m1 '^model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo); commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
"$build/benchmarks/attention/lra_attention_benchmark" "$@"
