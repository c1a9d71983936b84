#!/usr/bin/env bash
# Training fills a disk of 20 MB: the run ends with an error that names the file and the checkpoint that is whole, that
# checkpoint can be scored, and with room again the run goes on to its end.
# usage: full_disk_test.sh LRA        (77, skipped, where a tmpfs cannot be mounted)
set -euo pipefail
lra=$1
work=$(mktemp -d)
mkdir "$work/disk"
trap 'umount "$work/disk" 2>/dev/null || true; rm -rf "$work"' EXIT
if ! mount -t tmpfs -o size=20m tmpfs "$work/disk" 2>"$work/mount.log"; then
  echo "skipped: a tmpfs cannot be mounted here ($(cat "$work/mount.log"))"
  exit 77
fi
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=20 --set max_length_tokens=60 \
  --set train_examples=200 --set validation_examples=40 --set test_examples=40
train() {
  "$lra" train --task listops --attention linear --preset smoke --data "$work/data" --quiet --out "$work/disk/run" \
    --set train.steps=80 --set train.eval_every_steps=20 --set model.mlp_width=512 --checkpoint-every 1 "$@"
}
code=0
train --keep-checkpoints 1000 >"$work/log" 2>&1 || code=$?
cat "$work/log"
[ "$code" = 1 ] || { echo "FAILED: exit $code, should be 1"; exit 1; }
grep -q 'No space left on device' "$work/log" || { echo "FAILED: the reason is not named"; exit 1; }
grep -qE "$work/disk/run/(checkpoint/step-|curve)" "$work/log" || { echo "FAILED: the file is not named"; exit 1; }
whole=$(grep -o 'step-[0-9]* is whole' "$work/log" | cut -d' ' -f1)
[ "$(cat "$work/disk/run/checkpoint/latest")" = "$whole" ] || { echo "FAILED: \"$whole\" is not the latest checkpoint"; exit 1; }
"$lra" eval "$work/disk/run" --data "$work/data" --out "$work/scored" --quiet
[ ! -e "$work/disk/run/record.textproto" ]
mount -o remount,size=60m "$work/disk"
train --resume
echo "full at $whole, scored, resumed, finished"
