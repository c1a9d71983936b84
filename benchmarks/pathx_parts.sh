#!/usr/bin/env bash
# Makes Path-X in one process and in eight parts that are joined, and compares the two byte for byte. Prints the wall time of
# each and the fingerprint. 200,000 pictures need about 7 GB in FOLDER, which is removed when they are equal.
#
# usage: benchmarks/pathx_parts.sh LRA FOLDER [PICTURES]   (default 200000)
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
lra=$1 folder=$2 pictures=${3:-200000} parts=8
[ ! -e "$folder" ] || { echo "$folder is there already" >&2; exit 2; }
mkdir -p "$folder"
prepare() { "$lra" data prepare pathx --quiet --set images="$pictures" "$@" >/dev/null; }

started=$SECONDS
prepare --out "$folder/one"
echo "one process: $((SECONDS - started)) s"
started=$SECONDS
for ((part = 0; part < parts; part++)); do prepare --shard "$part/$parts" --out "$folder/parts/$part"; done
"$lra" data join "$folder"/parts/* --out "$folder/joined" --remove-parts --quiet >/dev/null
echo "$parts parts and joining them: $((SECONDS - started)) s"
diff -r "$folder/one" "$folder/joined"
echo "equal, byte for byte: $pictures pictures, $(du -sh "$folder/one" | cut -f1), sha256 of the manifest" \
  "$(sha256sum <"$folder/one/manifest.textproto" | cut -c1-16)"
rm -rf "$folder"
