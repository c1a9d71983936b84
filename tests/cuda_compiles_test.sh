#!/usr/bin/env bash
# usage: cuda_compiles_test.sh SOURCE_FOLDER
# The CUDA sources compile for both architectures, without a warning. 77 = skipped: there is no nvcc.
set -euo pipefail
cd "$1"
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if ! [ -x "$nvcc" ]; then echo "skipped: there is no nvcc"; exit 77; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
while read -r source; do
  for architecture in 80 90; do
    "$nvcc" -std=c++20 -O3 --fmad=false -Werror all-warnings -I. -arch="sm_$architecture" -cubin -o "$work/out.cubin" "$source"
    [ -s "$work/out.cubin" ] || { echo "$source: nothing for sm_$architecture"; exit 1; }
    count=$((count + 1))
  done
done < <(git ls-files '*.cu' 2>/dev/null | grep . || find models -name '*.cu')
[ "$count" -gt 0 ] || { echo "there are no CUDA sources"; exit 1; }
echo "$count compiled"
