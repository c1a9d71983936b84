#!/usr/bin/env bash
# Training fills a disk of 20 MB. The run must end with an error that names the file and the complete checkpoint; that
# checkpoint can be scored, and when there is room again the run continues to its end. Pretraining is tested alike,
# without the score.
# usage: full_disk_test.sh LRA        (77, skipped, where a tmpfs cannot be mounted)
set -euo pipefail
lra=$1
work=$(mktemp -d)
mkdir "$work/disk"
trap 'umount "$work/disk" 2>/dev/null || true; rm -rf "$work"' EXIT
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=20 --set max_length_tokens=60 \
  --set train_examples=200 --set validation_examples=40 --set test_examples=40
train() {
  "$lra" train --task listops --attention linear --preset smoke --data "$work/data" --quiet --out "$work/disk/run" \
    --set train.eval_every_steps=20 --set model.mlp_width=512 --checkpoint-every 1 "$@"
}

# fill STAGE FOLDER [FIELD=VALUE]...: fills the disk in the stage whose checkpoints are in the run's FOLDER.
fill() {
  local stage=$1 folder=$work/disk/run$2 settings=() code=0 whole
  for setting in "${@:3}"; do settings+=(--set "$setting"); done
  if ! mount -t tmpfs -o size=20m tmpfs "$work/disk" 2>"$work/mount.log"; then
    echo "skipped: a tmpfs cannot be mounted here ($(cat "$work/mount.log"))"
    exit 77
  fi
  train --keep-checkpoints 1000 "${settings[@]}" >"$work/log" 2>&1 || code=$?
  cat "$work/log"
  [ "$code" = 1 ] || { echo "FAILED: exit $code, should be 1"; exit 1; }
  grep -q 'No space left on device' "$work/log" || { echo "FAILED: the reason is not named"; exit 1; }
  grep -qE "$folder/(checkpoint/step-|curve)" "$work/log" || { echo "FAILED: the file is not named"; exit 1; }
  grep -q "lra: $stage stopped after step" "$work/log" || { echo "FAILED: the stage is not named"; exit 1; }
  whole=$(grep -o 'step-[0-9]* is whole' "$work/log" | cut -d' ' -f1)
  [ "$(cat "$folder/checkpoint/latest")" = "$whole" ] || { echo "FAILED: \"$whole\" is not the latest checkpoint"; exit 1; }
  [ "$stage" = pretraining ] || "$lra" eval "$work/disk/run" --data "$work/data" --out "$work/scored" --quiet
  [ ! -e "$work/disk/run/record.textproto" ]
  mount -o remount,size=60m "$work/disk"
  train --resume "${settings[@]}"
  umount "$work/disk"
  echo "$stage: full at $whole, resumed, finished"
}

fill training "" train.steps=80
fill pretraining /pretrain train.steps=5 pretrain.objective=MASKED pretrain.examples=640 pretrain.learning_rate=1e-3 \
  pretrain.masked_fraction=0.2 pretrain.until=NOTHING
