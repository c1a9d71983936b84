#!/usr/bin/env bash
# A package (scripts/package) in a bare Debian without network, compiler, Python or any of our libraries, where only LibTorch
# is. Skips (77) where it may not make one: that takes root and debootstrap.
# usage: package_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1 build=$2
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may mount and chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
# Where this machine gets its own packages.
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" 2>/dev/null | grep -v security | head -1)
[ -n "$mirror" ] || skip "apt knows no place to fetch Debian from: run apt-get update"
torch=$(realpath "$(sed -n 's/^LibTorch_ROOT:[A-Z]*=//p' "$build/CMakeCache.txt")")

# A mount namespace of its own: whatever happens, nothing stays mounted.
if [ -z "${LRA_OWN_MOUNTS:-}" ]; then exec env LRA_OWN_MOUNTS=1 unshare -m --propagation private "$0" "$@"; fi
work=$(mktemp -d)
root=$work/root
clean_up() { umount "$root/opt/wheel" "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$work"; }
trap clean_up EXIT

"$source_dir/scripts/package" --build "$build" "$work/lra"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
  { tail "$work/debootstrap.log"; skip "debootstrap failed"; }
mkdir -p "$root/opt/wheel"
cp -r "$work/lra" "$root/opt/lra"
mount --bind -o ro "$(dirname "$torch")" "$root/opt/wheel"
mount -t proc proc "$root/proc"
for absent in usr/bin/python3 usr/bin/g++; do
  [ ! -e "$root/$absent" ] || { echo "the bare system has $absent"; exit 1; }
done

# lra ARGUMENTS: what the package does there, with the right LibTorch.
lra() { unshare -n chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LRA_LIBTORCH="${libtorch-/opt/wheel/torch}" LRA_DATA=/root/data /opt/lra/bin/lra "$@"; }
expect() {
  local text=$1 output
  shift
  output=$(cd / && lra "$@" 2>&1) || { echo "failed: lra $*"; echo "$output"; exit 1; }
  grep -Eq "$text" <<<"$output" || { echo "lra $*: no \"$text\" in:"; echo "$output"; exit 1; }
}
expect 'listops' list tasks
expect 'ok +T4 ' check linear
expect 'canonical: no' data prepare listops --set train_examples=64 --set validation_examples=16 --set test_examples=16 --quiet
expect 'seed 0: test .* at step 3' train --task listops --attention cosformer --preset smoke --set train.steps=3 --set train.eval_every_steps=3 \
  --seeds 0 --out /root/run --quiet
expect 'cosformer' table /root/run

if output=$(libtorch= lra list tasks 2>&1); then echo "it started without LibTorch"; exit 1; fi
grep -q 'no other version. Looked at:' <<<"$output" || { echo "$output"; exit 1; }
echo "the package runs in a bare system: $(du -sh "$work/lra" | cut -f 1)"
