#!/usr/bin/env bash
# Four tasks of a Slurm step train one run, and a batch script of several tasks that calls lra itself is one process.
# usage: data_parallel_slurm_test.sh LRA    exit code 77 where Slurm is not installed (tests/skip.sh)
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
source "$here/skip.sh"
source "$here/slurm_cluster.sh"
missing=$(slurm_missing)
[ -z "$missing" ] || skip "$missing"
work=$(mktemp -d)
slurm_daemons=()
trap 'stop_cluster; rm -rf "$work"' EXIT
cd "$work"
source "$here/data_parallel.sh"
start_cluster "$work/cluster"
"$lra" data prepare listops --quiet --out data --set min_length_tokens=20 --set max_length_tokens=100 \
  --set train_examples=200 --set validation_examples=50 --set test_examples=50 >prepared
flags=(--task listops --attention cosformer --preset smoke --data data --exact-reduction --set train.batch_examples=16
  --set train.steps=40 --set train.log_every_steps=5 --set train.eval_every_steps=20)
train 1 one "${flags[@]}"
srun --ntasks=4 --label "$lra" train "${flags[@]}" --threads 1 --out step >step.log 2>&1 || fail "srun: $(cat step.log)"
same_bits one step 40
grep -q "processes: 4" step/record.textproto || fail "the record does not tell of four processes: $(cat step.log)"
[ "$(grep -c "seed 0: test" step.log)" = 1 ] || fail "not one rank reports: $(cat step.log)"
sbatch --wait --quiet --ntasks=4 --output=batch.log --wrap "'$lra' train ${flags[*]} --threads 1 --out batch" || fail "sbatch: $(cat batch.log)"
same_bits one batch 40
grep -q "processes: 1" batch/record.textproto || fail "a batch script takes itself for four processes"
end_test
echo "a step's tasks train one run"
