#!/usr/bin/env bash
# Seeds side by side through the program: stopped by a signal, killed with kill -9 and resumed, each ends as it does alone.
# usage: at_once_test.sh LRA
set -euo pipefail
lra=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=20 --set max_length_tokens=150 \
  --set train_examples=600 --set validation_examples=60 --set test_examples=60
# exec replaces the (sub)shell, so that $! is the program and not a shell around it.
train() {
  exec "$lra" train --task listops --attention cosformer --preset smoke --data "$work/data" --quiet --threads 1 --seeds 0-2 \
    --checkpoint-every 5 --set train.steps=240 --set train.eval_every_steps=60 --set train.batch_examples=8 "$@"
}
# Between two looks at what it has written.
wait_for_it() {
  kill -0 "$pid" 2>/dev/null || { echo "it ended by itself"; cat "$work/log"; exit 1; }
  sleep 0.05
}
(train --out "$work/alone") >/dev/null

# SIGTERM: all three save, and say so by exit code 1.
train --out "$work/together" --at-once 3 >"$work/log" 2>&1 &
pid=$!
until [ -e "$work/together-s2/checkpoint/latest" ]; do wait_for_it; done
kill -TERM "$pid"
if wait "$pid"; then echo "it ended before it could be stopped"; exit 1; fi
for seed in 0 1 2; do [ -e "$work/together-s$seed/checkpoint/latest" ] || { cat "$work/log"; exit 1; }; done
grep -q 'stopped at step' "$work/log" || { cat "$work/log"; exit 1; }

# kill -9 twice, each time once the last seed has got on.
for kill in 1 2; do
  before=$(cat "$work/together-s2/checkpoint/latest")
  train --out "$work/together" --at-once 3 --resume >"$work/log" 2>&1 &
  pid=$!
  until [ "$(cat "$work/together-s2/checkpoint/latest")" != "$before" ]; do wait_for_it; done
  kill -9 "$pid" || { echo "it ended before kill $kill"; cat "$work/log"; exit 1; }
  wait "$pid" 2>/dev/null || true
done
(train --out "$work/together" --at-once 2 --resume) >/dev/null

for seed in 0 1 2; do
  a=$work/alone-s$seed b=$work/together-s$seed
  for file in checkpoint/step-240/weights.safetensors checkpoint/step-240/optimizer.safetensors predictions.npy curve.jsonl; do
    cmp "$a/$file" "$b/$file"
  done
  "$lra" diff "$a" "$b" >/dev/null
done
if "$lra" train --task listops --attention cosformer --data "$work/data" --out "$work/x" --at-once 0 2>"$work/log"; then exit 1; fi
grep -q -- '--at-once' "$work/log" || { cat "$work/log"; exit 1; }
if "$lra" train --task listops --attention cosformer --data "$work/data" --out "$work/x" --graphs on 2>"$work/log"; then exit 1; fi
grep -q 'the CPU has no graphs' "$work/log" || { cat "$work/log"; exit 1; }
echo "three seeds at once, stopped, killed and resumed: equal to each alone"
