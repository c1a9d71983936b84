# Tests that try a package in a bare Debian source this file, with their own arguments. They set $source_dir and $build. The
# test skips (77) where it may not make one: that takes root and debootstrap. Afterwards it has
#   $mirror   where this machine gets its own packages
#   $torch    the build's LibTorch
#   $work     a folder, and $root in it, the place of the system that make_bare_system makes; both go with the test
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "only root may mount and chroot"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" 2>/dev/null | grep -v security | head -1)
[ -n "$mirror" ] || skip "apt knows no place to fetch Debian from: run apt-get update"
torch=$(realpath "$(sed -n 's/^LibTorch_ROOT:[A-Z]*=//p' "$build/CMakeCache.txt")")

# A mount namespace of its own: whatever happens, nothing stays mounted.
if [ -z "${LRA_OWN_MOUNTS:-}" ]; then exec env LRA_OWN_MOUNTS=1 unshare -m --propagation private "$0" "$@"; fi
work=$(mktemp -d)
root=$work/root
clean_up() { umount "$root/opt/wheel" "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$work"; }
trap clean_up EXIT

# make_bare_system [PACKAGE,...]: a Debian 12 with nothing but these packages, and LibTorch as its wheel has it in /opt/wheel.
make_bare_system() {
  debootstrap --variant=minbase ${1:+--include="$1"} bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail "$work/debootstrap.log"; skip "debootstrap failed"; }
  mkdir -p "$root/opt/wheel"
  mount --bind -o ro "$(dirname "$torch")" "$root/opt/wheel"
  mount -t proc proc "$root/proc"
}

# in_bare_system WORD...: a command there, without network.
in_bare_system() { unshare -n chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LRA_DATA=/root/data "$@"; }

# with_network WORD...: a command there that reaches PyPI as this machine does; the system has ca-certificates.
with_network() {
  mapfile -t settings < <(env | grep -E '^(PIP_[A-Z_]*|https?_proxy|no_proxy|HTTPS?_PROXY|NO_PROXY)=' | grep -v '^PIP_FIND_LINKS=')
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root ${settings[@]+"${settings[@]}"} "$@"
}

# expect_there TEXT WORD...: the command succeeds there, and what it prints matches the regular expression.
expect_there() {
  local text=$1 output
  shift
  output=$(cd / && in_bare_system "$@" 2>&1) || { echo "failed: $*"; echo "$output"; exit 1; }
  grep -Eq -- "$text" <<<"$output" || { echo "$*: no \"$text\" in:"; echo "$output"; exit 1; }
}

# use_there LRA...: what the program must do there: check an attention, make data, train on them, make a table.
use_there() {
  expect_there 'listops' "$@" list tasks
  expect_there 'ok +T4 ' "$@" check linear
  expect_there 'canonical: no' "$@" data prepare listops --set train_examples=64 --set validation_examples=16 --set test_examples=16 --quiet
  expect_there 'seed 0: test .* at step 2' "$@" train --task listops --attention cosformer --preset smoke --set train.steps=2 \
    --set train.eval_every_steps=2 --seeds 0 --out /root/run --quiet
  expect_there 'cosformer' "$@" table /root/run
}
