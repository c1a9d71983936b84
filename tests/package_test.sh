#!/usr/bin/env bash
# A package (scripts/package) in a bare Debian without network, compiler, Python or any of our libraries: the folder, where only
# LibTorch is; then an archive that brings LibTorch.
# usage: package_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1 build=$2
source "$source_dir/tests/bare_system.sh"

if "$source_dir/scripts/package" --build "$build" --archive "$work/lra.rar" 2>/dev/null; then echo "it packed lra.rar"; exit 1; fi
# What is asked for is there, or there is no package.
if [ ! -e "$build/liblra_cuda.so" ]; then
  ! "$source_dir/scripts/package" --cuda --build "$build" "$work/none" 2>"$work/none.log" || { echo "it packed no CUDA kernels"; exit 1; }
  grep -q 'has no liblra_cuda.so' "$work/none.log" && [ ! -e "$work/none" ] || { cat "$work/none.log"; exit 1; }
  rm "$work/none.log"
fi
"$source_dir/scripts/package" --build "$build" "$work/lra"
"$source_dir/scripts/package" --build "$build" --with-libtorch --archive "$work/lra-whole.tar.zst"
[ "$(echo "$work"/lra*)" = "$work/lra $work/lra-whole.tar.zst" ] || { ls "$work"; exit 1; }
make_bare_system
for absent in usr/bin/python3 usr/bin/g++; do
  [ ! -e "$root/$absent" ] || { echo "the bare system has $absent"; exit 1; }
done

cp -r "$work/lra" "$root/opt/lra"
use_there env LRA_LIBTORCH=/opt/wheel/torch /opt/lra/bin/lra
if output=$(in_bare_system /opt/lra/bin/lra list tasks 2>&1); then echo "it started without LibTorch"; exit 1; fi
grep -q 'no other version. Looked at:' <<<"$output" || { echo "$output"; exit 1; }
echo "the package runs in a bare system: $(du -sh "$work/lra" | cut -f 1)"

umount "$root/opt/wheel"
rm -rf "$root/opt/lra" "$root/root/run" "$root/root/data"
tar -C "$root/opt" -xf "$work/lra-whole.tar.zst"
use_there /opt/lra-whole/bin/lra
echo "the archive runs in a bare system: $(du -sh "$work/lra-whole.tar.zst" | cut -f 1)"
