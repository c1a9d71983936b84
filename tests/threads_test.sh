#!/usr/bin/env bash
# For one seed, the losses of 50 steps agree within 1e-4 relative on 1 and 2 threads, and exactly on 2 and 2. Two threads
# wait passively for each other, those of a suite's worker too, unless the environment says how they shall.
# usage: threads_test.sh LRA
set -euo pipefail
lra=$1
source "$(dirname "$0")/await.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$lra" data prepare listops --quiet --out "$work/data" --set min_length_tokens=20 --set max_length_tokens=150 \
  --set train_examples=300 --set validation_examples=40 --set test_examples=40
for attention in transformer cosformer; do
  for run in 1-a 2-a 2-b; do
    "$lra" train --task listops --attention $attention --preset smoke --data "$work/data" --quiet --threads "${run%-*}" \
      --out "$work/$attention-$run" --set model.layers=2 --set train.steps=50 --set train.log_every_steps=1 \
      --set train.eval_every_steps=50 >/dev/null
    sed 's/.*"train_loss":\([-+.0-9e]*\).*/\1/' "$work/$attention-$run/curve.jsonl" >"$work/$attention-$run.losses"
    [ "$(wc -l <"$work/$attention-$run.losses")" = 50 ]
  done
  cmp "$work/$attention-2-a/curve.jsonl" "$work/$attention-2-b/curve.jsonl"
  cmp "$work/$attention-2-a/checkpoint/step-50/weights.safetensors" "$work/$attention-2-b/checkpoint/step-50/weights.safetensors"
  paste "$work/$attention-1-a.losses" "$work/$attention-2-a.losses" | awk -v name=$attention '
    { d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "%s: losses of %d steps on 1 and 2 threads differ by at most %.1e relative\n", name, NR, worst
          exit !(NR == 50 && worst < 1e-4) }'
done

# What the environment of a training says of waiting, while it runs.
policy_of() {
  "$lra" train --task listops --attention linear --preset smoke --data "$work/data" --quiet --threads "$1" --out "$work/waits" \
    --set train.steps=100000 &
  local training=$!
  # A training that ended says nothing of waiting.
  if await $training test -e "$work/waits/curve.jsonl" && kill -0 $training; then
    tr '\0' '\n' <"/proc/$training/environ" | grep '^OMP_WAIT_POLICY=' || echo none
  else
    echo "the training ended"
  fi
  kill -KILL $training
  wait $training 2>/dev/null || true # it was killed
  rm -r "$work/waits"
}

# The same of a suite's worker on two threads.
policy_of_worker() {
  LRA_DATA=$work "$lra" run "$work/waits.textproto" --quiet --threads 2 --out "$work/suite" >"$work/suite.log" 2>&1 &
  local suite=$! worker=
  # Its steps are measured before it is trained, by a process that writes no curve.
  if await $suite compgen -G "$work/suite/*/curve.jsonl" >/dev/null; then
    worker=$(grep -ls "^PPid:[[:space:]]*$suite\$" /proc/[0-9]*/status) || true
  fi
  if [ -n "$worker" ]; then
    tr '\0' '\n' <"${worker%status}environ" | grep '^OMP_WAIT_POLICY=' || echo none
  else
    echo "no worker trains"
    cat "$work/suite.log" >&2
  fi
  kill $suite 2>/dev/null || true # its worker saves and ends
  wait $suite 2>/dev/null || true # its run is left
  rm -r "$work/suite"
}
ln -s data "$work/listops"
cat >"$work/waits.textproto" <<END
description: "of this test"
group { task: "listops" attention: "linear" preset: "smoke" set: "train.steps=100000" }
END
unset OMP_WAIT_POLICY GOMP_SPINCOUNT KMP_BLOCKTIME
[ "$(policy_of 1)" = none ]
[ "$(policy_of 2)" = OMP_WAIT_POLICY=passive ]
[ "$(OMP_WAIT_POLICY=active policy_of 2)" = OMP_WAIT_POLICY=active ]
[ "$(GOMP_SPINCOUNT=1000 policy_of 2)" = none ]
[ "$(policy_of_worker)" = OMP_WAIT_POLICY=passive ]
[ "$(OMP_WAIT_POLICY=active policy_of_worker)" = OMP_WAIT_POLICY=active ]
[ "$(GOMP_SPINCOUNT=1000 policy_of_worker)" = none ]
echo "two threads wait passively, unless they are told to"
