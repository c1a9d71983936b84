#!/usr/bin/env bash
# usage: cuda_compiles_test.sh SOURCE_FOLDER [LIBTORCH]
# The CUDA sources compile for both architectures without a warning, and what liblra_cuda.so says to LibTorch compiles with
# the headers of that LibTorch and links with its libraries, for which neither CUDA's libraries nor a GPU are needed.
# 77 = skipped: there is no nvcc.
set -euo pipefail
cd "$1"
torch=${2:-}
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

if [ -z "$torch" ] || ! [ -e "$torch/lib/libtorch_cuda.so" ]; then echo "not linked: no LibTorch with CUDA"; exit 0; fi
mkdir -p "$work/include" "$work/generated/models/base"
sed 's/@lra_cuda_hash@/1/' models/base/cuda_library_version.h.in >"$work/generated/models/base/cuda_library_version.h"
for folder in ATen c10 caffe2 torch; do ln -s "$torch/include/$folder" "$work/include/$folder"; done
toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
g++ -std=c++20 -O1 -Wall -Werror -fPIC -I. -I"$work/generated" -isystem "$work/include" -isystem "$work/include/torch/csrc/api/include" \
  -isystem "$toolkit/include" -c -o "$work/graph.o" models/base/cuda_graph.cc
for kernels in kept norm channel; do
  "$nvcc" -std=c++20 --fmad=false -I. -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -Xcompiler -fPIC \
    -c -o "$work/$kernels.o" "models/kernels/${kernels}_on_cuda.cu"
done
# Every symbol that our objects lack must be in LibTorch or in CUDA's static run time.
link() {
  g++ -shared -o "$work/liblra_cuda.so" "$work/graph.o" "$work/kept.o" "$work/norm.o" "$work/channel.o" -L"$torch/lib" "$@" -ltorch_cpu -lc10 \
    -L"$toolkit/lib64" -lcudart_static -ldl -lrt -lpthread -Wl,-z,defs,--unresolved-symbols=ignore-in-shared-libs
}
link -ltorch_cuda -lc10_cuda
if link -lc10_cuda 2>"$work/log"; then echo "a missing library was not noticed"; exit 1; fi
grep -q 'CUDAGraph' "$work/log" || { cat "$work/log"; exit 1; }
link -ltorch_cuda -lc10_cuda
for name in LraCudaVersion LraCurrentStream LraDrawKept LraNormForward LraNormBackward LraChannelConvolution LraFilterGradient LraGraphNewPool LraGraphBegin LraGraphEnd LraGraphReplay LraGraphDelete; do
  nm -D --defined-only "$work/liblra_cuda.so" | grep " T $name$" >/dev/null || { echo "liblra_cuda.so lacks $name"; exit 1; }
  grep -rqF "\"$name\"" models --include='*.cc' || { echo "nothing looks for $name"; exit 1; }
done
echo "liblra_cuda.so links"
