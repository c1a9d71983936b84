#!/usr/bin/env bash
# Measures every registered attention: time and memory while one sequence grows, and speed beside a straightforward
# composition of LibTorch's operations. Prints Markdown tables and names the machine.
#
#   [BUILD=build/release] benchmarks/attention.sh [--max-tokens 65536] [--cell-seconds 60] [--repetitions 5]
#     [--threads 2] [--kernels avx2] [--only linear,cosformer] [--skip-growth] [--skip-speed]
#     [--patient]
#
# --patient skips no cell for taking long (the whole takes hours on two cores); memory still limits the batch.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
ninja -C "$build" lra_attention_benchmark >&2
echo "$(grep -m1 '^model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GB", $2 / 1e6}' /proc/meminfo); commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
"$build/benchmarks/attention/lra_attention_benchmark" "$@"
