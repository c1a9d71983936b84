#!/usr/bin/env bash
# The files of cmake/, in small projects without a compiler: which LibTorch is taken, what find_package(lra) asks for, which
# compilers are refused, what the version of the CUDA library follows, and where an installed Python package finds the program.
# usage: cmake_test.sh SOURCE_DIR
set -euo pipefail
unset CDPATH LRA_LIBTORCH
source_dir=$(cd "$1" && pwd)
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
source "$source_dir/tests/expect.sh"
cd "$work"
# absent PATTERN: what ran last printed no such line.
absent() { if grep "$1" "$work/out"; then echo "FAILED: that was printed"; failures=$((failures + 1)); fi; }

# project FOLDER LINES: a project that has the files of cmake/.
project() {
  mkdir -p "$1"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(tried LANGUAGES NONE)' "list(APPEND CMAKE_MODULE_PATH $source_dir/cmake)" \
    "$2" >"$1/CMakeLists.txt"
}

# --- LibTorch ---

# libtorch FOLDER VERSION
libtorch() {
  local major minor patch
  IFS=. read -r major minor patch <<<"$2"
  mkdir -p "$1"/{lib,include/{ATen,c10,caffe2,torch/headeronly}}
  touch "$1"/lib/lib{torch_cpu,c10}.so "$1/include/ATen/ATen.h"
  printf '#define TORCH_VERSION_%s\n' "MAJOR $major" "MINOR $minor" "PATCH $patch" >"$1/include/torch/headeronly/version.h"
}
libtorch first/torch 2.15.0
libtorch second 2.11.0
libtorch find/third_party/libtorch/torch 2.15.0
project find 'find_package(LibTorch 2.11 REQUIRED)
message("takes ${LibTorch_ROOT} of ${LibTorch_VERSION}")'
configure() { cmake -S find -B "$@"; }
project optional 'find_package(LibTorch 2.11 ${how})
message("found: ${LibTorch_FOUND}, ${LibTorch_NOT_FOUND_MESSAGE}")'
expect 0 "^takes $work/find/third_party/libtorch/torch of 2.15.0$" configure default
for wrong in "$work/typo" typo/libtorch; do
  expect 1 "(LRA_LIBTORCH is|^) *$wrong," configure "wrong $wrong" -DLRA_LIBTORCH="$wrong"
  expect 1 "(LRA_LIBTORCH is|^) *$wrong," env LRA_LIBTORCH="$wrong" cmake -S find -B "in environment $wrong"
  expect 1 "(LRA_LIBTORCH is|^) *$wrong," env LRA_LIBTORCH="$wrong" cmake -S find -B default
done
expect 0 "^found: FALSE, LRA_LIBTORCH is $work/typo, but" cmake -S optional -B optional/build -DLRA_LIBTORCH="$work/typo"
expect 0 "^found: FALSE, LRA_LIBTORCH is $work/typo, but" cmake -S optional -B optional/build -Dhow=QUIET
absent 'Could NOT find'
expect 0 '^found: TRUE, $' cmake -S optional -B optional/build -DLRA_LIBTORCH="$work/first"
expect 0 "^takes $work/first/torch of 2.15.0$" configure given -DLRA_LIBTORCH="$work/first"
expect 0 "^takes $work/first/torch of" configure given
expect 0 "^takes $work/second of 2.11.0$" configure given -DLRA_LIBTORCH="$work/second"
expect 0 "^takes $work/first/torch of 2.15.0$" env LRA_LIBTORCH="$work/first/torch" cmake -S find -B environment
expect 0 "^takes $work/first/torch of 2.15.0$" configure environment

# --- find_package(lra), with a stand-in for find_dependency ---

mkdir stand-ins
echo 'macro(find_dependency) 
  message("needs ${ARGV}")
endmacro()' >stand-ins/CMakeFindDependencyMacro.cmake
cat >config.cmake <<CMAKE
cmake_policy(VERSION 3.25)
set(PACKAGE_INIT "macro(check_required_components)\nendmacro()")
set(LibTorch_VERSION 2.15.0)
set(LibTorch_ROOT $work/first/torch)
configure_file($source_dir/cmake/lraConfig.cmake.in $work/lraConfig.cmake @ONLY)
file(WRITE $work/lraTargets.cmake "")
set(CMAKE_MODULE_PATH $work/stand-ins)
include($work/lraConfig.cmake)
message("needs nothing else, LibTorch from <\${LRA_LIBTORCH}>")
CMAKE
expect 0 '^needs LibTorch;2.15.0;EXACT$' cmake -DLRA_WITH_LIBTORCH=ON -P config.cmake
expect 0 "LibTorch from <$work/first/torch>$" cmake -DLRA_WITH_LIBTORCH=ON -P config.cmake
expect 0 'LibTorch from <>$' cmake -DLRA_WITH_LIBTORCH=OFF -P config.cmake
absent 'needs LibTorch'
mv first elsewhere && mkdir -p first/torch  # then it is looked for as if nothing had been known
expect 0 'LibTorch from <>$' cmake -DLRA_WITH_LIBTORCH=ON -P config.cmake

# --- Compilers ---

compiler() { cmake -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_COMPILER_ID="$1" -DCMAKE_CXX_COMPILER_VERSION="$2" -P "$source_dir/cmake/LraCompiler.cmake" && echo taken; }
expect 1 'CMake Error' compiler GNU 10.2.1
expect 1 'g\+\+ is GCC 9.4.0: 12 or newer' compiler GNU 9.4.0
expect 0 'CMake Warning' compiler GNU 11.4.0
for taken in 'GNU 12.2.0' 'GNU 14.1.0' 'Clang 14.0.6'; do
  expect 0 '^taken$' compiler ${taken% *} ${taken#* }
  absent 'CMake Warning'
done

# --- The version of the CUDA library ---

mkdir -p sources/models
echo '#include "models/a.h"  // why' >sources/models/a.cc
printf '%s\n' '#include <vector>' '#include "models/b.h"' >sources/models/a.h
echo '#include "models/a.h"' >sources/models/b.h
cat >hash.cmake <<CMAKE
cmake_policy(VERSION 3.25)
set(PROJECT_SOURCE_DIR $work/sources)
include($source_dir/cmake/LraFiles.cmake)
lra_hash_sources(hash models/a.cc)
message("\${hash}")
CMAKE
version() { cmake -P hash.cmake 2>&1; }
expect 0 '^[0-9a-f]{7}$' version
seen=$(version)
[ "$(version)" = "$seen" ] || { echo "FAILED: the same sources have two versions"; failures=$((failures + 1)); }
for file in a.cc a.h b.h; do
  echo "int ${file%.*};" >>"sources/models/$file"
  now=$(version)
  if grep -q "$now" <<<"$seen"; then echo "FAILED: an edit of $file keeps version $now"; failures=$((failures + 1)); fi
  seen+=" $now"
done

# --- An installed Python package ---

project installed "include(LraFiles)
set(LRA_WITH_LIBTORCH ON)
$(sed -n '/^if(LRA_WITH_LIBTORCH)$/,$p' "$source_dir/python/CMakeLists.txt")"
for libraries in lib lib64 lib/x86_64-linux-gnu; do
  package=moved/$libraries/lra/python
  cmake -S installed -B "built $libraries" --fresh -DCMAKE_INSTALL_PREFIX="$work/there" -DCMAKE_INSTALL_BINDIR=bin -DCMAKE_INSTALL_DATADIR=share \
    -DLRA_PYTHON_INSTALL_DIR="$libraries/lra/python" >log
  for _ in 1 2; do expect 0 program/bin/lra cmake --install "built $libraries"; done
  mkdir -p there/bin there/share/lra/configs
  printf '#!/bin/sh\necho "started with $*"\n' >there/bin/lra && chmod +x there/bin/lra
  cp "$source_dir/python/lra/__main__.py" "there/$libraries/lra/python/lra" && touch "there/$libraries/lra/python/lra/__init__.py"
  rm -rf moved && mv there moved
  expect 0 '^started with list tasks$' env PYTHONPATH="$package" python3 -m lra list tasks
  expect 0 "^$work/moved/share/lra/configs$" realpath -e "$package/lra/program/share/lra/configs"
done
# The library of our CUDA kernels lies in lib/, where the program looks (models/base/cuda_library.cc).
expect 0 'install\(TARGETS lra_cuda LIBRARY DESTINATION lib\)' cat "$source_dir/models/CMakeLists.txt"
[ "$failures" = 0 ] && echo "cmake files: as expected" || exit 1
