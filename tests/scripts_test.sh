#!/usr/bin/env bash
# Scripts with stand-ins for what they call: when scripts/setup fetches LibTorch, which libraries scripts/package finds, what
# benchmarks/attention_pair.py finds fault with, what scripts/new writes. And what holds for every script.
# usage: scripts_test.sh SOURCE_DIR
set -euo pipefail
unset CDPATH LRA_LIBTORCH PYTHONPATH
source_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$source_dir/tests/expect.sh"

tree="$work/a tree"
mkdir -p "$tree/scripts" "$work/bin"
cp "$source_dir"/scripts/{setup,torch_packages,library_packages} "$tree/scripts"
cp "$source_dir/CMakeLists.txt" "$tree"
ln -s /bin/true "$tree/scripts/install_packages"
ln -s /bin/true "$work/bin/cmake"
# pip makes an empty LibTorch; this machine's own torch does not count.
cat >"$work/bin/python3" <<PYTHON
#!/usr/bin/env bash
[ "\$1" != -m ] || { mkdir -p third_party/libtorch.part/torch && touch third_party/fetched && exit; }
exec $(command -v python3) -S "\$@"
PYTHON
chmod +x "$work/bin/python3"
export PATH=$work/bin:$PATH

# setup VERSION: "fetched" or "not fetched", where python3 has this torch; '' = none.
setup() {
  rm -rf "$tree/third_party" "$tree/build" "$work/torch"
  mkdir -p "$tree/build/release"
  [ -z "$1" ] || { mkdir "$work/torch" && printf "debug = False\n__version__ = '%s'\n" "$1" >"$work/torch/version.py"; }
  [ "$(cd "$tree" && PYTHONPATH=$work scripts/setup 2>"$work/log")" = build/release ] || { cat "$work/log"; return 1; }
  if [ -e "$tree/third_party/fetched" ]; then echo "fetched"; else echo "not fetched"; fi
}

expect 0 '^fetched$' setup ''
for version in 1.13.1 2.4.1+cu121 2.9.0 2.10.1+cpu; do expect 0 '^fetched$' setup $version; done
for version in 2.11.0+cpu 2.15.0+cu132 2.15.0a0+git1234 3.0.0; do expect 0 '^not fetched$' setup $version; done
# A folder of a name that the script looks for, where cd would look first; cd would also print where it went.
mkdir -p "$work/elsewhere/scripts"
export CDPATH=$work/elsewhere:$work
expect 0 '^fetched$' setup ''
unset CDPATH

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
