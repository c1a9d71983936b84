#!/usr/bin/env bash
# Scripts with stand-ins for what they call: when scripts/setup fetches LibTorch and configures anew, what scripts/package takes,
# and that it ends where a build fails, what benchmarks/attention_pair.py finds fault with, what scripts/new writes. And what holds
# for every script.
# usage: scripts_test.sh SOURCE_DIR
set -euo pipefail
unset CDPATH LRA_LIBTORCH PYTHONPATH
source_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$source_dir/tests/expect.sh"

tree="$work/a tree"
mkdir -p "$tree/scripts" "$work/bin"
cp "$source_dir"/scripts/{setup,torch_packages,library_packages,aarch64_sysroot,build_libarchive} "$tree/scripts"
cp "$source_dir"/CMake{Lists.txt,Presets.json} "$tree"
printf '#!/bin/sh\ntouch installed\n' >"$tree/scripts/install_packages"
cat >"$work/bin/cmake" <<'CMAKE'
#!/usr/bin/env bash
case $1 in
  --version) echo "cmake version ${CMAKE_VERSION:-3.25.1}" ;;
  --preset) echo "$2" >>configured; mkdir -p "$4" && touch "$4/build.ninja" ;;
esac
CMAKE
# libtorch FOLDER VERSION: what counts as one.
cat >"$work/bin/libtorch" <<'LIBTORCH'
#!/usr/bin/env bash
mkdir -p "$1"/torch/{lib,include/ATen}
touch "$1"/torch/{lib/lib{torch_cpu,c10}.so,include/ATen/ATen.h}
echo "__version__ = '$2'" >"$1/torch/version.py"
LIBTORCH
# pip does not end while there is a file hold; this machine's own torch does not count.
default_version=$("$source_dir/scripts/torch_packages" --default)
cat >"$work/bin/python3" <<PYTHON
#!/usr/bin/env bash
[ "\$1" != -m ] || { echo fetched >>fetched; while [ -e hold ]; do sleep 0.1; done; libtorch third_party/libtorch.part $default_version+cu132 && exit; }
exec $(command -v python3) -S "\$@"
PYTHON
chmod +x "$work"/bin/* "$tree/scripts/install_packages"
export PATH=$work/bin:$PATH

start_anew() { (cd "$tree" && rm -rf third_party build fetched configured installed); }
fetches() { if [ -e "$tree/fetched" ]; then echo "fetched $(wc -l <"$tree/fetched")"; else echo "not fetched"; fi; }
# setup VERSION: "fetched 1" or "not fetched", where python3 has this torch; '' = none.
setup() {
  start_anew
  rm -rf "$work/torch"
  [ -z "$1" ] || { mkdir "$work/torch" && printf "debug = False\n__version__ = '%s'\n" "$1" >"$work/torch/version.py"; }
  [ "$(cd "$tree" && PYTHONPATH=$work scripts/setup 2>"$work/log")" = build/release ] || { cat "$work/log"; return 1; }
  fetches
}

expect 0 '^fetched 1$' setup ''
for version in 1.13.1 2.4.1+cu121 2.9.0 2.10.1+cpu; do expect 0 '^fetched 1$' setup $version; done
for version in 2.11.0+cpu 2.15.0+cu132 2.15.0a0+git1234 3.0.0; do expect 0 '^not fetched$' setup $version; done
# A folder of a name that the script looks for, where cd would look first; cd would also print where it went.
mkdir -p "$work/elsewhere/scripts"
export CDPATH=$work/elsewhere:$work
expect 0 '^fetched 1$' setup ''
unset CDPATH

# What is there: all of the wanted version, and nothing else, is taken as it is, though nothing may be written there.
again() { (cd "$tree" && rm -f fetched configured && scripts/setup "$@" 2>"$work/log") || cat "$work/log"; fetches; }
chmod a-w "$tree/third_party"
expect 0 '^not fetched$' again
[ "$(ls "$tree/third_party")" = "$(printf 'libtorch\nlibtorch.lock')" ] || { ls "$tree/third_party"; failures=$((failures + 1)); }
chmod u+w "$tree/third_party"
rm "$tree/third_party/libtorch/torch/lib/libtorch_cpu.so"
expect 0 '^fetched 1$' again
libtorch "$tree/third_party/libtorch" 2.14.0+cu130
expect 0 '^fetched 1$' again
expect 0 '^not fetched$' again
mkdir "$work/torch" && echo "__version__ = '2.15.0'" >"$work/torch/version.py"
libtorch "$tree/third_party/libtorch" 2.14.0+cu130  # which CMake would take before Python's
PYTHONPATH=$work expect 0 '^fetched 1$' again
# An unpacked archive has no folder torch/ and no version.py.
unpack() { rm -rf "$tree/third_party/libtorch"{,.new} && libtorch "$tree/third_party/libtorch.new" && mv "$tree/third_party/libtorch"{.new/torch,}; }
for version in "$default_version" "$default_version+cpu"; do
  unpack && rm "$tree/third_party/libtorch/version.py" && echo "$version" >"$tree/third_party/libtorch/build-version"
  expect 0 '^not fetched$' again
done
unpack && rm "$tree/third_party/libtorch/version.py" && echo "${default_version}1" >"$tree/third_party/libtorch/build-version"
expect 0 '^fetched 1$' again
# Where nothing may be written (to root all may, so a file stands in the folder's place) setup says what helps.
start_anew
touch "$tree/third_party"
expect 0 "^setup: no whole LibTorch .*/third_party cannot be written: set LRA_LIBTORCH, or make" again
rm "$tree/third_party"
if [ "$(id -u)" != 0 ]; then
  mkdir -m a-w "$tree/third_party"
  expect 0 "^setup: no whole LibTorch .*/third_party cannot be written: set LRA_LIBTORCH, or make" again
fi

# Two at once fetch once; the second waits.
start_anew
touch "$tree/hold"
(cd "$tree" && scripts/setup >/dev/null 2>"$work/one") &
(cd "$tree" && scripts/setup dev >/dev/null 2>"$work/two") &
for _ in {1..3000}; do ! grep -qs waiting "$work/one" "$work/two" || break; sleep 0.1; done
rm "$tree/hold"
wait
expect 0 '^fetched 1$' fetches
expect 0 '^== waiting for another scripts/setup$' cat "$work/one" "$work/two"
expect 0 '^dev$' cat "$tree/configured"
expect 0 '^release$' cat "$tree/configured"

# Another LRA_LIBTORCH is configured anew, also where the build was made without this script. A relative one is where setup was called.
configures() { (cd "$tree" && rm -f configured && "$@" >/dev/null 2>&1; cat configured 2>/dev/null || echo "not configured"); }
mkdir "$work/other" && rm "$tree/build/dev/libtorch"
expect 0 '^not configured$' configures scripts/setup dev
expect 0 '^dev$' configures env LRA_LIBTORCH="$work/other" scripts/setup dev
expect 0 '^not configured$' configures env LRA_LIBTORCH=../other scripts/setup dev
expect 0 '^dev$' configures scripts/setup dev
# A configuration by hand with the same one keeps its options, and one with another does not without a word.
by_hand() { (cd "$tree" && rm -f build/dev/libtorch && printf '%s\n' "LibTorch_ROOT:PATH=$1" 'LRA_CUDA:BOOL=ON' >build/dev/CMakeCache.txt); }
mkdir "$work/other/torch"
for root in "$work/other" "$work/other/torch" ''; do
  by_hand "$root"
  expect 0 '^not configured$' configures env LRA_LIBTORCH="$work/other" scripts/setup dev
  expect 0 "^$work/other$" cat "$tree/build/dev/libtorch"
  expect 0 'LRA_CUDA:BOOL=ON' cat "$tree/build/dev/CMakeCache.txt"
done
by_hand "$work/torch"
expect 0 'options \(as -DLRA_CUDA=ON\) are dropped$' env -C "$tree" LRA_LIBTORCH="$work/other" scripts/setup dev

# A wrong command line or an old CMake is refused before anything is fetched.
start_anew
cd "$tree"
for wrong in --torhc --help=yes; do expect 2 "unknown option $wrong" scripts/setup $wrong; done
expect 2 'there is no preset "relaese"; there are release dev asan' scripts/setup relaese
expect 2 'there is no preset "base"' scripts/setup base
expect 2 '^usage: scripts/setup ' scripts/setup release --torch
expect 1 'setup: --torch takes one of these' scripts/setup release --torch 2.9.0
for script in setup aarch64_sysroot build_libarchive; do
  for help in --help -h; do expect 0 "^usage: scripts/$script" scripts/$script $help; done
done
for script in aarch64_sysroot build_libarchive; do expect 2 "^usage: scripts/$script" scripts/$script --all; done
if [ -e installed ]; then echo "FAILED: packages were installed"; failures=$((failures + 1)); fi
expect 1 'CMake 3.25 or newer is needed, as GCC 12 is, and here is 3.22.6' env CMAKE_VERSION=3.22.6 scripts/setup
expect 0 '^not fetched$' fetches
for version in 3.25 3.31.6 4.1.0; do expect 0 '^build/dev$' env CMAKE_VERSION=$version scripts/setup dev lra; done
cd "$source_dir"

# scripts/package with what ldd may say of a program: paths may have spaces.
find_libraries() (
  lines=("$@") stage="$work/a stage" wheel="$work/a wheel" build=BUILD
  torch=$wheel/torch
  source <(sed -n '/^find_libraries() {$/,/^}$/p' "$source_dir/scripts/package")
  ldd() { printf '\t%s (0x00007f0a)\n' linux-vdso.so.1 "${lines[@]}" | sed 's/not found .*/not found/'; }
  die() { printf '%s\n' "$*"; exit 1; }
  find_libraries
  printf '<%s>' "${bundled[@]}" -- "${from_libtorch[@]}"
)
touch "$tree/libb.so.2"
expect 0 "^<libb.so.2 $tree/libb.so.2><--><$work/a wheel/torch/lib/libc10.so>$" find_libraries "libb.so.2 => $tree/libb.so.2" \
  "libc10.so => $work/a wheel/torch/lib/libc10.so" "libd.so => $work/a stage/lib/libd.so" 'libc.so.6 => /lib/libc.so.6'
expect 1 '^BUILD/lra needs libe.so.1, which was not found$' find_libraries 'libe.so.1 => not found'

# Kernels of ours are packed where --cuda asks for them: what lies in the build may be older than its program.
copy_libraries() (
  with_cuda=$1 stage="$work/a stage" build="$work/a build" libarchive="$work/a build"
  rm -rf "$stage" && mkdir -p "$stage/lib" "$build"
  touch "$build/libarchive.so.13" "$build/liblra_cuda.so" "$build/libb.so.2"
  source <(sed -n '/^own_name() {/p; /^copy_libraries() {$/,/^}$/p' "$source_dir/scripts/package")
  find_libraries() { bundled=("libb.so.2 $build/libb.so.2"); }
  strip() { :; }
  patchelf() { :; }
  copy_libraries
  ls "$stage/lib" | paste -sd' '
)
expect 0 '^libarchive-lra.so.13 libb-lra.so.2$' copy_libraries ''
expect 0 '^libarchive-lra.so.13 libb-lra.so.2 liblra_cuda.so$' copy_libraries 1

# A package that is stopped between its two renames leaves the earlier one in place.
clean_up() (
  cd "$work" && rm -rf package.* && mkdir -p package.part package.old/bin
  folder=package.new stage=package.part old=package.old part=
  source <(sed -n '/^clean_up() {$/,/^}$/p' "$source_dir/scripts/package")
  [ -z "$1" ] || mkdir package.new
  clean_up
  echo package.*/*
)
expect 0 '^package.new/bin$' clean_up ''
expect 0 '^package.\*/\*$' clean_up 'the new one is there'

# A package is made of no build that failed, nor of a source folder.
package_tree="$work/package tree"
mkdir -p "$package_tree"/{scripts,lra,bin} "$package_tree/build/release"
cp "$source_dir/scripts/package" "$package_tree/scripts"
ln -s /bin/true "$package_tree/scripts/install_packages"
stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$package_tree/$1" && chmod +x "$package_tree/$1"; }
stand_in build/release/lra ''
stand_in bin/cmake 'echo "cmake $*" >>called; [ "$1" != --build ]'
stand_in bin/nvcc ''
stand_in bin/realpath '[ "$1" = -m ] || echo "goes on" >>called; exec /usr/bin/realpath "$@"'
package() (
  cd "$package_tree" && rm -f called && touch called
  code=0
  PATH=$package_tree/bin:$PATH scripts/package "$@" "$work/none" 2>&1 || code=$?
  echo "ended with $code: $(paste -sd'|' called)"
)
stand_in scripts/setup 'echo build/release'
expect 0 '^ended with 1: cmake -B [^|]*/build/release -DLRA_CUDA=ON\|cmake --build [^|]* lra_cuda$' package --cuda
expect 0 '^ended with 1: cmake -B [^|]*/build/release -DLRA_PYTHON=ON\|cmake --build [^|]* lra_trainer$' package --wheel "$work/wheels"
stand_in scripts/setup 'exit 3'
for options in --cuda "--wheel $work/wheels" --with-libtorch; do expect 0 '^ended with 3: $' package $options; done
expect 0 'package: .*package tree holds no program lra' package --build "$package_tree"

# benchmarks/attention_pair.py with stand-ins for two builds: what the new one no longer measures is a fault.
cell() { printf '{"request": {"attention": "linear", "tokens": %s}, "result": {"passes": {"seconds": [%s]}}}' "$@"; }
build() { printf "#!/bin/sh\necho '{\"growth\": [%s, %s]}'\n" "$(cell 256 "$2")" "$(cell 512 "$3")" >"$work/$1" && chmod +x "$work/$1"; }
build old 0.001 0.002; build same 0.001 0.002; build slow 0.001 0.004; build broken 0.001 ''
pair=("$work/bin/python3" "$source_dir/benchmarks/attention_pair.py" --methods linear --rounds 1 "$work/old")
expect 0 '^\| linear \| 512 \| 2.0 \| 2.0 \| 1.000 \|$' "${pair[@]}" "$work/same"
expect 1 '^\| linear \| 512 \| 2.0 \| 4.0 \| 2.000 \| slower$' "${pair[@]}" "$work/slow"
expect 1 '^\| linear \| 512 \| 2.0 \| – \| – \| not measured$' "${pair[@]}" "$work/broken"

# scripts/new in a tree of the examples alone: what it writes is the example under another name, and it overwrites nothing.
mkdir "$work/plug-ins" && cp -r "$source_dir/examples" "$work/plug-ins" && mkdir "$work/plug-ins/scripts"
cp "$source_dir/scripts/new" "$work/plug-ins/scripts"
cd "$work/plug-ins"
new=scripts/new
expect 0 'train --task my_parity --attention linear' "$new" task my_parity
expect 0 'train --task my_mirror --attention linear' "$new" token_task my_mirror
expect 0 'train --task listops --attention soft_2' "$new" attention soft_2
expect 0 'train --task listops --attention none --set block.name=mean' "$new" block mean
expect 0 '^traits.label = "Soft2";$' sed -n 's/^ *\(traits.label.*\)/\1/p' models/attention/soft_2.cc
expect 0 'LRA_REGISTER_ATTENTION."soft_2", Soft2Options, MakeSoft2' cat models/attention/soft_2.cc
expect 0 '#include "tasks/my_parity/my_parity.pb.h"' cat tasks/my_parity/my_parity.cc
old_names() { grep -rnwE 'Parity|parity|Reverse|reverse|taylor|(Taylor|Average)Options' configs --include='*.textproto' || echo none; }
expect 0 '^none$' old_names
# Sentences of the example keep their words.
expect 0 "the exponential's Taylor polynomial" cat models/attention/soft_2.cc
expect 0 'gets the average of the tokens' cat models/block/mean.cc
files() { find . -type f -exec md5sum {} + | sort; }
before=$(files)
expect 2 'tasks/my_parity/my_parity.proto is there already; take another name' "$new" task my_parity
expect 2 'ParityOptions is a message of examples/parity/parity.proto already' "$new" attention parity
expect 2 'the name is "My-Task", and would be of small letters' "$new" task My-Task
expect 2 '--attention none is no attention' "$new" attention none
expect 2 'the kind is "layer", and would be task, token_task, attention or block' "$new" layer mine
expect 2 'a kind and one name are needed' "$new" task
expect 2 '^usage: scripts/new KIND NAME' "$new"
expect 0 '^usage: scripts/new KIND NAME' "$new" --help
[ "$before" = "$(files)" ] || { echo "FAILED: a refused scripts/new wrote something"; failures=$((failures + 1)); }

# Every script that changes to a folder by a name that may be relative.
cd "$source_dir"
while read -r script; do
  grep -q '^unset CDPATH' "$script" || { echo "FAILED: $script: needs a line \"unset CDPATH\": with that variable cd goes elsewhere"; failures=$((failures + 1)); }
done < <(grep -rlE '\$\(cd |cd "\$\(dirname' scripts tests benchmarks .ci | xargs grep -lE '^#!.*sh$')
[ "$failures" = 0 ] && echo "scripts: as expected" || exit 1
