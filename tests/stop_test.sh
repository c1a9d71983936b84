#!/usr/bin/env bash
# Sends SIGTERM while a step is validated and while the test split is scored. The run must end soon with the message of
# a run stopped in training and leave nothing half-written; resumed, it must end as an undisturbed run, bit for bit. A dry run that is stopped
# leaves nothing.
# usage: stop_test.sh LRA
set -euo pipefail
lra=$1
source "$(dirname "$0")/await.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=60 --set max_length_tokens=120 \
  --set train_examples=100 --set validation_examples=1600 --set test_examples=1600
# Scoring a split takes seconds; a step does not.
train() {
  exec "$lra" train --task listops --attention transformer --preset smoke --data "$work/data" --quiet --threads 1 \
    --checkpoint-every 1 --set model.layers=4 --set model.width=128 --set train.steps=4 --set train.eval_every_steps=2 \
    --set train.validation_examples=0 --set evaluation.scored_examples=1600 --set evaluation.selection=LAST "$@"
}
(train --out "$work/undisturbed")

# stop PATTERN SECONDS: starts the run and stops it so long after a file of this pattern exists.
stop() {
  train --out "$work/stopped" --resume >"$work/log" 2>&1 &
  local pid=$! code=0 begin
  await "$pid" compgen -G "$1" >/dev/null || { echo "FAILED: no $1: $(cat "$work/log")"; exit 1; }
  sleep "$2"
  begin=$(date +%s%N)
  kill -TERM "$pid" || { echo "FAILED: the run had ended before it could be stopped: $(cat "$work/log")"; exit 1; }
  wait "$pid" || code=$?
  echo "stopped after $(( ($(date +%s%N) - begin) / 1000000 )) ms: $(cat "$work/log")"
  [ "$code" = 1 ] || { echo "FAILED: exit $code, should be 1"; exit 1; }
  [ ! -e "$work/stopped/record.textproto" ] || { echo "FAILED: a record was written"; exit 1; }
  [ -z "$(find "$work/stopped" -name '*.tmp-*')" ] || { echo "FAILED: something is half-written"; exit 1; }
}
said() { grep -qE "$1" "$work/log" || { echo "FAILED: should say: $1"; exit 1; }; }
run=$work/stopped
stop "$run/checkpoint/step-1" 0.1
# On a busy machine the signal may come before step 2 begins; then it is stopped later after it has taken the folder.
for seconds in 0.2 0.3 0.5 0.7 1 1.5 2 3 5 7 10 15 20 30 45 60; do
  [ ! -e "$run/checkpoint/step-2" ] || break
  stop "$run/.lease-*" $seconds
done
said "stopped at step 2 of 4; saved in $run; --resume goes on"
grep -q unvalidated "$run/checkpoint/step-2/state.textproto" || { echo "FAILED: the step was validated: it proves nothing"; exit 1; }
stop "$run/test_looks.textproto" 0.1
said "stopped at step 4 of 4, before it was scored \(stopped after [0-9]+ of 1600 (test|validation) examples\); saved in $run; --resume goes on"
(train --out "$run" --resume)

for file in checkpoint/step-4/weights.safetensors checkpoint/step-4/optimizer.safetensors predictions.npy \
  predictions-validation.npy curve.jsonl tensorboard/events.out.tfevents.0000000000.lra; do
  cmp "$work/undisturbed/$file" "$run/$file"
done
"$lra" diff "$work/undisturbed" "$run"

# A dry run removes what it wrote.
train --out "$work/dry" --dry-run >"$work/log" 2>&1 &
pid=$! code=0
await "$pid" compgen -G "$work/dry.dry-run.tmp-*" >/dev/null || { echo "FAILED: a dry run without a folder: $(cat "$work/log")"; exit 1; }
kill -TERM "$pid" || { echo "FAILED: the dry run had ended before it could be stopped"; exit 1; }
wait "$pid" || code=$?
[ "$code" = 1 ] || { echo "FAILED: a stopped dry run ends with $code, not 1: $(cat "$work/log")"; exit 1; }
! compgen -G "$work/dry*" || { echo "FAILED: a stopped dry run leaves something"; exit 1; }
echo "stopped twice, resumed: equal to the undisturbed run"
