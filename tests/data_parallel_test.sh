#!/usr/bin/env bash
# Two processes train one run: against one process, with --exact-reduction bit for bit, after kill -9 and with another
# number of processes; and what is refused.
# usage: data_parallel_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
source "$here/data_parallel.sh"
"$lra" data prepare listops --quiet --out data --set min_length_tokens=20 --set max_length_tokens=100 \
  --set train_examples=200 --set validation_examples=50 --set test_examples=50 >prepared
# The last batch of an epoch has 8 of 16 examples, and dropout shows whether ranks draw the masks of one process.
flags=(--task listops --attention cosformer --preset smoke --data data --set train.batch_examples=16
  --set model.dropout=0.1 --set train.log_every_steps=5 --set train.eval_every_steps=20)

train 1 one "${flags[@]}" --set train.steps=40
train 2 two "${flags[@]}" --set train.steps=40
close one two 1e-5
[ "$(cat two.1.log)" = "" ] || fail "rank 1 says something: $(cat two.1.log)"
grep -q "processes: 2" two/record.textproto || fail "the record does not tell of two processes"
if grep -q cpu_seconds two/record.textproto; then fail "the CPU time of one of two processes passes for the run's"; fi

exact=("${flags[@]}" --exact-reduction)
train 1 exact-1 "${exact[@]}" --set train.steps=40
train 2 exact-2 "${exact[@]}" --set train.steps=40
train 3 exact-3 "${exact[@]}" --set train.steps=40
same_bits exact-1 exact-2 40
same_bits exact-1 exact-3 40

# Where tokens are guessed, ranks score the batches that are theirs, and the third of three has none of validation's two.
"$lra" data prepare copy --quiet --out copy --set min_symbols=5 --set max_symbols=15 --set train_examples=64 \
  --set validation_examples=24 --set test_examples=40 >prepared
tokens=(--task copy --attention linear --preset smoke --data copy --set train.batch_examples=16 --set train.steps=10
  --set train.eval_every_steps=5 --exact-reduction)
for count in 1 2 3; do train $count tokens-$count "${tokens[@]}"; done
same_bits tokens-1 tokens-2 10
same_bits tokens-1 tokens-3 10

# RADAM goes by the number of updates, which all must know who go on.
radam=("${exact[@]}" --set train.steps=40 --set optimizer.kind=RADAM --keep-checkpoints 2)
train 2 radam "${radam[@]}"
cp -r radam radam-again
rm -r radam-again/checkpoint/step-40 radam-again/record.*
train 2 radam-again "${radam[@]}" --resume
same_bits radam radam-again 40

# A second stage, averaged weights, and a norm of padding-dependent length go through the same sums.
stages=("${exact[@]}" --set train.steps=20 --set pretrain.objective=MASKED --set pretrain.examples=160 --set pretrain.until=NOTHING
  --set pretrain.learning_rate=2e-3 --set pretrain.masked_fraction=0.2 --set optimizer.average_decay=0.9)
train 1 stages-1 "${stages[@]}"
train 2 stages-2 "${stages[@]}"
same_bits stages-1 stages-2 20
cmp stages-{1,2}/pretrain/curve.jsonl || fail "pretraining differs"

# Ranks on a device, whose gradients pass through the host's memory: labels, and a stage without them.
on_device=("${stages[@]}" --device fake)
train 1 device-1 "${on_device[@]}"
train 2 device-2 "${on_device[@]}"
same_bits device-1 device-2 20
cmp device-{1,2}/pretrain/curve.jsonl || fail "pretraining on a device differs between one rank and two"
close stages-1 device-1 1e-5

# Whoever dies, the others end and the run goes on, with any number of processes.
long=(--set train.steps=600 --set train.eval_every_steps=300 --checkpoint-every 20)
train 1 undisturbed "${exact[@]}" "${long[@]}"
for victim in 0 1; do
  begin 2 killed-$victim "${exact[@]}" "${long[@]}"
  kill_one killed-$victim $victim
  train $((3 * victim + 1)) killed-$victim "${exact[@]}" "${long[@]}" --resume
  same_bits undisturbed killed-$victim 600
done
# SIGTERM to one stops all, cleanly.
begin 2 stopped "${exact[@]}" "${long[@]}"
await "${pids[1]}" test -e stopped/checkpoint/latest || { fail "rank 1 saves nothing: $(cat stopped.1.log)"; end_test; }
kill -TERM "${pids[1]}"
for pid in "${pids[@]}"; do code=0; wait "$pid" || code=$?; [ "$code" != 0 ] || fail "a stopped rank succeeds"; done
grep -q "stopped at step .* goes on" stopped.0.log || fail "rank 0 says $(cat stopped.0.log)"
train 2 stopped --exact-reduction --resume  # by its own settings, which rank 0 tells the other
same_bits undisturbed stopped 600

# refused PATTERN flag...: both ranks end with an error, and one says this.
refused() {
  local pattern=$1 pid code
  shift
  begin 2 refused "$@"
  for pid in "${pids[@]}"; do code=0; wait "$pid" || code=$?; [ "$code" != 0 ] || fail "not refused: $pattern"; done
  cat refused.?.log >refused.log
  grep -qE "$pattern" refused.log || fail "refused without \"$pattern\": $(cat refused.log)"
  [ ! -e refused ] || fail "a refused run left its folder"
}
refused 'model.norm=BATCH: statistics are of a whole batch' "${flags[@]}" --set model.norm=BATCH --set model.norm_placement=AFTER
refused 'model.pooled_norm=OVER_EXAMPLES: statistics are of a whole batch' "${flags[@]}" --set model.pooled_norm=OVER_EXAMPLES
refused 'train.batch_examples=1 examples' "${flags[@]}" --set train.batch_examples=1
refused 'lists of tasks or attentions are the work of one' --task listops --attention relu,cosformer --data data
refused 'dry-run are the work of one' "${flags[@]}" --dry-run
code=0
RANK=2 WORLD_SIZE=2 "$lra" train "${flags[@]}" --out refused >refused.log 2>&1 || code=$?
[ "$code" = 2 ] && grep -q 'RANK is "2", must be a whole number from 0 to 1' refused.log || fail "RANK=2: exit $code, $(cat refused.log)"
end_test
echo "two processes train what one does"
