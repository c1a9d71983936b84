#!/usr/bin/env bash
# kill -9 at random points of training, then resume: weights, record and predictions must equal those of an undisturbed
# run, bit for bit (fields marked volatile aside).
# usage: kill_resume_test.sh LRA KILLS [THREADS [--init-from] [FIELD=VALUE]...]
# With --init-from the run starts from the encoder of another, which is trained before.
set -euo pipefail
lra=$1 kills=$2 threads=${3:-1}
settings=() encoder=
for setting in "${@:4}"; do
  if [ "$setting" = --init-from ]; then encoder=yes; else settings+=(--set "$setting"); fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=20 --set max_length_tokens=150 \
  --set train_examples=600 --set validation_examples=100 --set test_examples=100
if [ -n "$encoder" ]; then
  "$lra" train --task listops --attention transformer --preset smoke --data "$work/data" --quiet --threads "$threads" \
    --set train.steps=20 "${settings[@]}" --out "$work/encoder"
  settings+=(--init-from "$work/encoder")
fi
steps=$((300 + 150 * kills))
# exec replaces the (sub)shell, so that $! is the program and not a shell around it.
train() {
  exec "$lra" train --task listops --attention cosformer --preset smoke --data "$work/data" --quiet --threads "$threads" \
    --checkpoint-every 3 --set train.steps=$steps --set train.batch_examples=16 --set train.log_every_steps=4 "${settings[@]}" "$@"
}
(train --out "$work/undisturbed")

# The step of the last checkpoint, 0 where there is none.
reached_step() {
  local latest
  latest=$(cat "$work/killed/checkpoint/latest" 2>/dev/null) || latest=step-0
  echo "${latest#step-}"
}
# A kill counts only if the process was training: it had a checkpoint to start from, or had made one.
RANDOM=20 done_kills=0 pretraining_kills=0 attempts=0 patience=1
while [ "$done_kills" -lt "$kills" ]; do
  attempts=$((attempts + 1))
  if [ "$attempts" -gt $((4 * kills + 20)) ]; then echo "only $done_kills of $attempts kills hit training"; exit 1; fi
  if [ -e "$work/killed/record.textproto" ]; then echo "the run ended after $done_kills kills: too short for $kills"; exit 1; fi
  train --out "$work/killed" --resume >"$work/killed.log" 2>&1 &
  pid=$!
  end=$((${EPOCHREALTIME/[.,]/} + $(awk -v r=$RANDOM -v p=$patience 'BEGIN { printf "%d", 1e6 * p * (0.25 + 0.75 * r / 32767) }')))
  # However fast the machine is, steps are left for the kills that follow.
  most=$((steps * (done_kills + 1) / (kills + 1)))
  while [ "${EPOCHREALTIME/[.,]/}" -lt $end ] && [ "$(reached_step)" -lt $most ]; do sleep 0.02; done
  # The job is a process of its own, and -9 leaves it no chance to clean up.
  if kill -9 "$pid" 2>/dev/null; then
    if [ -e "$work/killed/checkpoint/latest" ]; then
      done_kills=$((done_kills + 1))
    else
      if [ -e "$work/killed/pretrain/checkpoint/latest" ]; then pretraining_kills=$((pretraining_kills + 1)); fi
      patience=$(awk -v p=$patience 'BEGIN { print 1.2 * p }')  # on a busy machine it may still have been starting
    fi
  fi
  wait "$pid" 2>/dev/null || true
done
reached=$(cat "$work/killed/checkpoint/latest" 2>/dev/null || echo "no checkpoint yet")
(train --out "$work/killed" --resume)

a=$work/undisturbed b=$work/killed
last=checkpoint/step-$steps
# state.textproto holds times, so it is not compared.
if [ -e "$a/pretrain" ]; then diff -r --exclude=state.textproto "$a/pretrain" "$b/pretrain"; fi
for file in $last/weights.safetensors $last/optimizer.safetensors predictions.npy predictions-validation.npy curve.jsonl \
  tensorboard/events.out.tfevents.0000000000.lra; do
  cmp "$a/$file" "$b/$file"
done
"$lra" diff "$a" "$b"
# The parts' CPU time adds up to the run's; a part that is not known would leave none.
for run in "$a" "$b"; do
  sed -n '/^efficiency {/,/^}/p' "$run/record.textproto" | grep 'cpu_seconds: [0-9]' >/dev/null ||
    { echo "$run/record.textproto has no CPU time"; exit 1; }
done
leftovers=$(find "$b" -name '*.tmp-*' | wc -l)
[ "$leftovers" = 0 ] || { echo "$leftovers temporary files were left behind"; find "$b" -name '*.tmp-*'; exit 1; }
echo "killed $done_kills times (last checkpoint before the end: $reached), $pretraining_kills times in pretraining, resumed: equal to the undisturbed run"
