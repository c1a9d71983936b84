#!/usr/bin/env bash
# Runs a suite as a user types it: from nothing to a table, killed on the way, stopped by its budget, in parts.
# usage: suite_cli_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data
source "$here/expect.sh"
source "$here/await.sh"

expect 2 'unknown suite "listops_smok"; did you mean "listops_smoke"' "$lra" run listops_smok
expect 2 'unknown suite "cosformer"; did you mean "cosformer_[a-z0-9_]+"[?] `lra list suites` lists all [0-9]+; ' "$lra" run cosformer
expect 0 '^  listops_smoke +Two methods, two seeds' "$lra" list suites
expect 0 '^runs +4$' "$lra" list suites listops_smoke
expect 0 '^methods +transformer, cosformer$' "$lra" list suites listops_smoke
expect 2 'lra data prepare listops' "$lra" run listops_smoke
expect 0 'cosformer-smoke-.*, listops-transformer-smoke-.* could not be measured: .*lra data prepare listops' "$lra" run listops_smoke --dry-run
expect 0 '"why": ".*lra data prepare listops' "$lra" run listops_smoke --dry-run --json
expect 2 'runs/listops_smoke holds no runs yet; `lra run listops_smoke` begins them' "$lra" status listops_smoke
expect 2 'nosuch holds no suite' "$lra" status nosuch
expect 2 'numerics.precision: is TF32 in 3 of 3 runs .*, and the device is cpu; use --device cuda' "$lra" run text_control
if [ -e runs/text_control ]; then echo "FAILED: a suite that is refused leaves nothing"; failures=$((failures + 1)); fi
# The data of all tasks is named at once, before anything is measured.
cat >tasks.textproto <<END
description: "of this test"
group { task: ["listops", "text"] attention: "linear" preset: "smoke" }
END
for prepare in 'listops' 'text --raw PATH'; do
  expect 2 "make one with: lra data prepare $prepare --out " "$lra" run tasks.textproto
  expect 0 "^note: no data set in .*lra data prepare $prepare --out " "$lra" run tasks.textproto --dry-run
done
small=(min_length_tokens=20 max_length_tokens=120 train_examples=300 validation_examples=60 test_examples=60)
"$lra" data prepare listops --quiet $(printf -- '--set %s ' "${small[@]}") >/dev/null
cat >mine.textproto <<END
description: "of this test"
group {
  task: "listops"
  attention: ["linear", "relu"]
  seeds: "0-1"
  preset: "smoke"
  set: ["train.steps=40", "train.eval_every_steps=20"]
}
END

# A suite and a run file are told apart.
run_file=$here/../configs/runs/quickstart.textproto
expect 2 'this is a suite: lra run mine.textproto$' "$lra" train --config mine.textproto
expect 2 'this is a suite: lra run mine.textproto$' "$lra" train --config mine.textproto --task listops,text
expect 2 "this is a run file: lra train --config $run_file\$" "$lra" run "$run_file"
expect 2 'unknown field "lr".*; `lra config` with the same flags lists every field$' "$lra" train --task listops --attention linear --set lr=0.1

# A cell that makes no model is named before anything is trained, and a plan ends with an error.
cat >wrong.textproto <<END
description: "of this test"
group {
  task: "listops" attention: ["linear", "fnet"] preset: "smoke"
  set: ["train.steps=40", "train.eval_every_steps=20", "evaluation.scored_examples=10"]
  factor {
    name: "positions"
    level { name: "sinusoid" set: "model.positions=SINUSOID" }
    level { name: "rotary" set: "model.positions=ROTARY" }
  }
}
END
expect 2 '1 cell of the suite cannot be trained, so that none is' "$lra" run wrong.textproto --quiet
expect 2 '^  listops-fnet-smoke-[0-9a-f]{8}: model.positions: is ROTARY' "$lra" run wrong.textproto --quiet
# What is wrong with its data is said first.
expect 2 '^note: listops is scored on 10 of 60 test examples .*: lra table and lra ablate leave such runs out$' "$lra" run wrong.textproto
expect 2 "^note: $work/data/listops holds other data than is pinned for listops" "$lra" run wrong.textproto
if [ -e runs/wrong ]; then echo "FAILED: a suite with a wrong cell leaves something"; failures=$((failures + 1)); fi
expect 2 'listops-linear-smoke.* measured steps' "$lra" run wrong.textproto --dry-run
expect 2 '1 cell of the suite cannot be trained' "$lra" run wrong.textproto --dry-run --quiet
rm -r runs/wrong

# So is a device that nobody has, or that this machine lacks, and what it cannot do.
pair=(train --task listops --attention linear,relu --preset smoke --quiet --out computed)
for dry in '' --dry-run; do
  expect 2 'device: is "bogus", must be cpu, cuda' "$lra" run mine.textproto --quiet --out computed --device bogus $dry
  expect 2 'device: is "bogus", must be cpu, cuda' "$lra" run mine.textproto --quiet --out computed --executor slurm --time 1h --device bogus $dry
  expect 2 'cuda:99: .*use --device cpu' "$lra" run mine.textproto --quiet --out computed --device cuda:99 $dry
  expect 2 'graphs: is "maybe", must be auto, on or off' "$lra" "${pair[@]}" --graphs maybe $dry
  expect 2 'graphs on: .*use --graphs auto' "$lra" "${pair[@]}" --graphs on $dry
  expect 2 'avx9.*generic' "$lra" "${pair[@]}" --kernels avx9 $dry
done
if [ -e computed ]; then echo "FAILED: a suite that cannot compute leaves something"; failures=$((failures + 1)); fi

# A plan measures the tasks whose data is there, and says that it does.
expect 0 '^measuring some steps of 1 cell, [0-9]+ at once' "$lra" run tasks.textproto --dry-run
expect 0 'listops-linear-smoke.* measured steps' "$lra" run tasks.textproto --dry-run
expect 0 '^text-linear-smoke.* could not be measured: no data set in .*lra data prepare text' "$lra" run tasks.textproto --dry-run

# Undisturbed.
expect 0 'listops-linear-smoke.* 2 of 2 .*measured steps' "$lra" run mine.textproto --dry-run --out whole
expect 0 '4 runs left: about .* of CPU time, .* of memory .* of disk' "$lra" run mine.textproto --dry-run --out whole
[ -z "$(ls -d whole/listops-* 2>/dev/null)" ] || { echo "FAILED: a plan trains nothing"; failures=$((failures + 1)); }
expect 0 '4 of 4 runs finished' "$lra" run mine.textproto --quiet --out whole
expect 0 'finished .*test' "$lra" status whole
expect 0 '4 runs took .*, predicted were .* %; single runs' "$lra" status whole
expect 0 '4 of 4 runs finished' "$lra" run mine.textproto --quiet --out whole
expect 0 '4 of 4 runs finished' "$lra" status whole --watch # ends, because nothing is left
expect 0 'finished: step 40 of 40 ' "$lra" watch whole --once
"$lra" table whole >whole.txt
# Two attentions are a factor; two seeds are too few to say anything of it, and that is said.
expect 0 'effect of attention relu instead of linear on listops is not known: seeds 0, 1 trained' "$lra" ablate whole
expect 0 '^[|] relu ' "$lra" ablate whole --format md
expect 0 '"verdict": "not known"' "$lra" ablate whole --json
expect 0 '^whole,main,attention: relu - linear,listops,' "$lra" ablate whole --format csv
expect 0 'Locality on listops: the first 16 examples of validation' "$lra" ablate whole --locality
if command -v gnuplot >/dev/null; then
  expect 0 '^# Ablation: whole' "$lra" ablate whole --figure curves
  expect 0 'listops, validation: accuracy in %' cat curves-curves-1.svg
  expect_picture curves-curves-1
fi
expect 2 'md, csv or json' "$lra" ablate whole --format tex
# Which runs trained is known with a majority class alone, and where none is found that is said.
expect 0 'On listops no majority class is on record .*counts as trained; --baselines names' "$lra" ablate whole
expect 0 'majority' "$lra" baseline --like "$(ls -d whole/listops-linear-*-s0)" --out bars --quiet
"$lra" ablate whole --baselines bars >judged.txt
! grep -q 'majority class is on record' judged.txt || { echo "FAILED: --baselines is not read"; failures=$((failures + 1)); }
expect 2 'data holds no suite .*lra run' "$lra" ablate data

# The name of a suite stands for runs/NAME, where nothing else is called so.
for command in ablate table report; do
  expect 2 'runs/listops_smoke holds no runs yet; `lra run listops_smoke` begins them' "$lra" "$command" listops_smoke
  expect 2 'listops_smok is neither a folder nor a suite; did you mean "listops_smoke"' "$lra" "$command" listops_smok
done
expect 2 'runs/listops_smoke holds no runs yet' "$lra" watch listops_smoke --once
mkdir -p runs
rm -rf runs/listops_smoke
cp -r whole runs/listops_smoke
expect 0 '^# Ablation: listops_smoke' "$lra" ablate listops_smoke
expect 0 '^named.html: [0-9]+ bytes' "$lra" report listops_smoke --out named.html
expect 0 'finished: step 40 of 40 ' "$lra" watch listops_smoke --once
"$lra" table listops_smoke | sed 's|runs/listops_smoke|whole|' | diff whole.txt - || { echo "FAILED: a table by the suite's name"; failures=$((failures + 1)); }
mkdir listops_smoke
expect 2 '^lra: listops_smoke holds no suite' "$lra" ablate listops_smoke
rmdir listops_smoke

# The rules are those of the beginning, whatever becomes of the checkout meanwhile.
cp -r "$here/../configs" rules
LRA_CONFIGS=$work/rules "$lra" run mine.textproto --quiet --out frozen >frozen.log 2>&1 &
while ! compgen -G "frozen/logs/*.log" >/dev/null && kill -0 $! 2>/dev/null; do sleep 0.02; done
rm -r rules
wait $! || { echo "FAILED: a suite whose rules went away: $(cat frozen.log)"; failures=$((failures + 1)); }
"$lra" table frozen | sed 's/frozen/whole/' | diff whole.txt - || { echo "FAILED: its table differs"; failures=$((failures + 1)); }

# Killed again and again, each time when one more run has begun; each time it goes on, without waiting for the workers of the
# one before. A run that somebody else seems to train keeps the suite from ending before it is killed.
for begun in 1 2 3; do
  "$lra" run mine.textproto --quiet --out killed --workers 2 >/dev/null 2>&1 9>&- &
  while [ "$(ls killed/*/curve.jsonl 2>/dev/null | wc -l)" -lt "$begun" ] && kill -0 $! 2>/dev/null; do sleep 0.02; done
  kill -9 $! || { echo "FAILED: the suite ended before kill number $begun"; failures=$((failures + 1)); }
  wait $! 2>/dev/null || [ $? = 137 ] || { echo "FAILED: the suite did not end by kill number $begun"; failures=$((failures + 1)); }
  if [ $begun = 1 ]; then
    held=$(comm -23 <(cd whole && ls -d listops-*) <(cd killed && ls -d listops-*) | tail -n 1)
    mkdir "killed/$held" && exec 9>"killed/$held/.lock" && flock 9
  fi
done
exec 9>&-
# Who watches on a terminal sees the runs end, and is let go then.
script -qefc "'$lra' status killed --watch --every 0.2" watched.txt </dev/null >/dev/null &
watcher=$!
script -qefc "'$lra' watch killed --every 0.2" drawn.txt </dev/null >/dev/null &
drawer=$!
while ! grep -qs 'runs left' watched.txt && kill -0 "$watcher" 2>/dev/null; do sleep 0.05; done  # it looks before the rest begins
expect 0 '4 of 4 runs finished' "$lra" run mine.textproto --quiet --out killed
wait "$watcher" && grep -q 'runs left' watched.txt && grep -q '4 of 4 runs finished' <(tail -5 watched.txt) ||
  { echo "FAILED: lra status --watch"; tail -5 watched.txt; failures=$((failures + 1)); }
# The last of what was drawn one over the other: a picture before may end with the same lines.
wait "$drawer" && [ "$(tac drawn.txt | sed '/\[2J/q' | grep -c 'finished: step 40 of 40 ')" = 4 ] ||
  { echo "FAILED: lra watch of a suite"; tail -12 drawn.txt; failures=$((failures + 1)); }
"$lra" table killed >killed.txt
diff whole.txt killed.txt || { echo "FAILED: the table of the killed suite differs"; failures=$((failures + 1)); }

# A budget stops it with an exit code; parts come together; a shard is a part.
expect 2 'is no time' "$lra" run mine.textproto --budget soon
for long in inf 3000000h; do
  expect 2 "^lra: --budget \"$long\" is too long, must be at most 876000h" "$lra" run mine.textproto --quiet --out parts --budget "$long"
done
expect 1 'runs are left: the same command goes on' "$lra" run mine.textproto --quiet --out parts --budget 10ms
expect 2 'k/n' "$lra" run mine.textproto --shard 2/2
expect 0 '2 of 2 runs finished' "$lra" run mine.textproto --quiet --out parts --shard 0/2
expect 0 '2 of 4 runs finished' "$lra" status parts
expect 0 "^parts/listops-.* waiting" "$lra" runs parts
expect 1 'listops, attention .*: seed . [(]waiting[)]' "$lra" ablate parts
expect 0 '2 of 2 runs finished' "$lra" run mine.textproto --quiet --out parts --shard 1/2
"$lra" table parts >parts.txt
diff whole.txt parts.txt || { echo "FAILED: the table of the parts differs"; failures=$((failures + 1)); }

# Each task of a Slurm step, or each process of torchrun's, may train a part: its runs are not the launcher's ranks.
task=(env SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2)
expect 0 'measured steps$' "${task[@]}" "$lra" run mine.textproto --dry-run --out launched --shard 0/2
expect 0 '2 of 2 runs finished' "${task[@]}" "$lra" run mine.textproto --quiet --out launched --shard 0/2
expect 0 '2 of 2 runs finished' env RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "$lra" run mine.textproto --quiet --out launched --shard 1/2
"$lra" table launched | diff whole.txt - || { echo "FAILED: the table of a launcher's tasks differs"; failures=$((failures + 1)); }

# Runs that another suite has finished are taken from there, and no others.
cat >more.textproto <<END
description: "of this test"
group {
  task: "listops"
  attention: ["linear", "identity"]
  seeds: "0-1"
  preset: "smoke"
  set: ["train.steps=40", "train.eval_every_steps=20"]
}
END
expect 0 'reused: 2 runs of ./frozen' "$lra" run more.textproto --out more --reuse . --dry-run
expect 0 '2 runs left' "$lra" run more.textproto --quiet --out more --reuse . --dry-run
expect 0 '"reused_runs": 2' "$lra" run more.textproto --quiet --out more --reuse . --dry-run --json
if compgen -G 'more/listops-*' >/dev/null; then echo "FAILED: a plan takes nothing"; failures=$((failures + 1)); fi
expect 2 '--reuse: nosuch: No such file or directory' "$lra" run more.textproto --out more --reuse nosuch
expect 0 '4 of 4 runs finished' "$lra" run more.textproto --quiet --out more --reuse whole
cmp {whole,more}/"$(cd whole && ls -d listops-linear-*-s1)"/record.textproto || { echo "FAILED: a run was trained twice"; failures=$((failures + 1)); }
expect 0 '4 of 4 runs finished' "$lra" run more.textproto --out more --reuse whole

# Where the first checkpoint is the best, the last one is scored too, unless --no-last says otherwise; either way it is the
# same run.
sed -e '/attention/s/, "relu"//' -e '/seeds/d' -e 's/"train.steps=40"/&, "schedule.learning_rate=0"/' mine.textproto >still.textproto
scores_of_last() { grep -c 'checkpoint: "last"' "$1"/listops-*/record.textproto; }
expect 0 '1 of 1 runs finished' "$lra" run still.textproto --quiet --out both
[ "$(scores_of_last both)" = 2 ] || { echo "FAILED: the last checkpoint has $(scores_of_last both) scores, not 2"; failures=$((failures + 1)); }
expect 0 '1 of 1 runs finished' "$lra" run still.textproto --quiet --out selected --no-last
[ "$(scores_of_last selected)" = 0 ] || { echo "FAILED: --no-last leaves $(scores_of_last selected) scores"; failures=$((failures + 1)); }
expect 0 'reused: 1 run of selected' "$lra" run still.textproto --out taken --reuse selected
cmp {selected,taken}/"$(cd selected && ls -d listops-*)"/record.textproto || { echo "FAILED: a run without its last score is trained again"; failures=$((failures + 1)); }

# One run of a suite, as an element of a job array trains it.
name=$(basename "$(ls -d whole/listops-linear-*-s1)")
expect 0 '^1 of 1 runs finished' "$lra" run mine.textproto --quiet --out cells --cell "$name"
cmp "whole/$name/curve.jsonl" "cells/$name/curve.jsonl" || { echo "FAILED: --cell trains another run"; failures=$((failures + 1)); }
expect 0 '^1 of 4 runs finished' "$lra" status cells
expect 0 '^  "wall_seconds": ' "$lra" status cells --json
expect 2 'edited since.*unknown run "listops-linear"' "$lra" run mine.textproto --quiet --out cells --cell listops-linear

# Pinned workers have cores of their own, beside another suite too, and what a killed suite had is free at once.
export LRA_CORE_LOCKS=$work/core-locks
allowed_cores() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$1"; }
two=$(allowed_cores /proc/self/status | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done | sed -n 1,2p | paste -sd,)
workers=$(tr , '\n' <<<"$two" | wc -l) # one, where there is one core
sed 's/train.steps=40/train.steps=100000/' mine.textproto >long.textproto
taskset -c "$two" "$lra" run long.textproto --quiet --out pinned --workers "$workers" --pin-workers >pinned.log 2>&1 &
suite=$!
# A worker that has written a point of its curve has been pinned.
while [ "$(ls pinned/*/curve.jsonl 2>/dev/null | wc -l)" -lt "$workers" ] && kill -0 $suite 2>/dev/null; do sleep 0.05; done
found=$(for status in $(grep -ls "^PPid:[[:space:]]*$suite\$" /proc/[0-9]*/status); do allowed_cores "$status"; done | sort -n | paste -sd,)
[ "$found" = "$two" ] || { echo "FAILED: workers are on cores \"$found\", not one on each of $two: $(cat pinned.log)"; failures=$((failures + 1)); }
beside=(taskset -c "$two" "$lra" run mine.textproto --cell "$name" --quiet --pin-workers)
expect 0 "^note: a worker runs unpinned, as others may: it takes 1 of $workers cores, and 0 are free" "${beside[@]}" --out beside
cmp "whole/$name/curve.jsonl" "beside/$name/curve.jsonl" || { echo "FAILED: beside another suite a run differs"; failures=$((failures + 1)); }
kill -9 $suite || true
wait $suite 2>/dev/null || true
expect 0 '^1 of 1 runs finished' "${beside[@]}" --out after
! grep unpinned out || { echo "FAILED: a killed suite keeps its cores"; failures=$((failures + 1)); }
cmp "whole/$name/curve.jsonl" "after/$name/curve.jsonl" || { echo "FAILED: a pinned run differs"; failures=$((failures + 1)); }
diff <(grep -h 'cores:' "beside/$name/record.textproto") <(grep -h 'cores:' "after/$name/record.textproto") ||
  { echo "FAILED: a pinned run names another machine"; failures=$((failures + 1)); }
mkdir -m 755 open
expect 2 'pin-workers: .*/open", is of user .* with mode 0755, must be of user' env LRA_CORE_LOCKS="$work/open" "$lra" run mine.textproto --quiet --out refused --pin-workers

# A cluster that is not there, or not asked for (tests/slurm_suite_test.sh has one).
far=(run mine.textproto --quiet --out far)
expect 0 "^  '$name'" "$lra" "${far[@]}" --executor slurm --time 1h --dry-run
expect 0 '"limit_seconds": 3600' "$lra" "${far[@]}" --executor slurm --time 1h --dry-run --json
expect 0 "^'.*' 'run' .* '--no-last' '--quiet' &$" "$lra" "${far[@]}" --executor slurm --time 1h --dry-run --no-last
# A package's elements begin at its launcher, with the LibTorch that it found; another program's LibTorch is its own affair.
package=(env LRA_PROGRAM=/package/bin/lra LRA_LIBTORCH=/package/torch "$lra" "${far[@]}" --executor slurm --time 1h --dry-run)
expect 0 "^'/package/bin/lra' 'run' " "${package[@]}"
expect 0 "^export LRA_LIBTORCH='/package/torch'$" "${package[@]}"
expect 0 "^  '/package/torch'$" "${package[@]}"
env -u LRA_PROGRAM LRA_LIBTORCH=/elsewhere "$lra" "${far[@]}" --executor slurm --time 1h --dry-run >far.txt
grep -q "'run'" far.txt && ! grep -q LRA_LIBTORCH far.txt || { echo "FAILED: elements without a launcher: $(cat far.txt)"; failures=$((failures + 1)); }
expect 2 'sbatch was not found: Slurm.s client' env PATH=/no/such "$lra" "${far[@]}" --executor slurm --time 1h
expect 2 'add --executor slurm' "$lra" "${far[@]}" --partition cpu
expect 2 'unknown executor "slrum"; did you mean "slurm"' "$lra" "${far[@]}" --executor slrum
expect 2 'are about processes of this machine' "$lra" "${far[@]}" --executor slurm --budget 1h
expect 2 'are about processes of this machine' "$lra" "${far[@]}" --executor slurm --pin-workers
expect 2 'is no time' "$lra" "${far[@]}" --executor slurm --time soon
expect 2 'time "inf" is too long' "$lra" "${far[@]}" --executor slurm --time inf
# Slurm may signal an element two minutes before its limit.
expect 2 '^lra: --time "1m" is too short, must be at least 3m: ' "$lra" "${far[@]}" --executor slurm --time 1m
expect 2 'time "2m59s" is too short' "$lra" "${far[@]}" --executor slurm --time 2m59s --dry-run
expect 0 'signal=B:USR1@60$' "$lra" "${far[@]}" --executor slurm --time 3m --dry-run

# What would hide jobs from lra, and a number of bytes that is meant as megabytes.
for argument in --job-name=x --job-na=x -Jx --array=0-1 -a --test-only --wrap=true --wait -W; do
  expect 2 "^lra: --sbatch \"$argument\" cannot be given" "$lra" "${far[@]}" --executor slurm --time 1h --dry-run "--sbatch=$argument"
done
for argument in --account=x -Ax --wait-all-nodes=1 --nice; do
  expect 0 'array=0-' "$lra" "${far[@]}" --executor slurm --time 1h --dry-run "--sbatch=$argument"
done
expect 2 '^lra: --memory is 4000 bytes, must be at least 64MB; .* write 4000MB or 4GB' "$lra" "${far[@]}" --executor slurm --time 1h --memory 4000
# Who watches asks the queue less often than he looks.
mkdir stand_ins
printf '#!/bin/sh\necho 11\n' >stand_ins/sbatch
printf '#!/bin/sh\necho >>%q\n' "$work/asked" >stand_ins/squeue
printf '#!/bin/sh\n' >stand_ins/sacct
chmod +x stand_ins/*
# The queue is empty, as if all had been cancelled.
expect 1 'Slurm job 11_0 ended and wrote nothing here' env PATH="$work/stand_ins:$PATH" "$lra" "${far[@]}" --executor slurm --time 1h
# Both files are there from the beginning, whoever comes first.
: >asked
: >looked.txt
looks() { grep -c 'runs finished' looked.txt; }
three_looks() { [ "$(looks)" -ge 3 ]; }
begin=$SECONDS
env PATH="$work/stand_ins:$PATH" script -qefc "timeout 600 '$lra' status far --watch --every 0.2" looked.txt </dev/null >/dev/null &
watcher=$!
await $watcher three_looks || { echo "FAILED: $(looks) looks"; failures=$((failures + 1)); }
kill "$watcher" || { echo "FAILED: watching ended by itself"; failures=$((failures + 1)); }
# Once in 30 s, which a slow machine may take for three looks.
asked=$(wc -l <asked)
[ "$asked" -ge 1 ] && [ "$asked" -le $((1 + (SECONDS - begin) / 30)) ] || { echo "FAILED: the queue was asked $asked times"; failures=$((failures + 1)); }

# Lists are a suite without a file.
lists=(train --task listops --attention linear,relu --seeds 0-1 --preset smoke --set train.steps=40 --set train.eval_every_steps=20)
expect 0 '4 runs left: about' "$lra" "${lists[@]}" --dry-run --quiet
expect 0 '4 of 4 runs finished' "$lra" "${lists[@]}" --quiet --out lists
"$lra" table lists >lists.txt
diff whole.txt lists.txt || { echo "FAILED: the table of the lists differs"; failures=$((failures + 1)); }
# On data elsewhere they have a folder of their own, also where the task's own has none.
mv data/listops elsewhere
expect 0 '4 of 4 runs finished' "$lra" "${lists[@]}" --quiet --data elsewhere
compgen -G 'runs/lists-*-data-*/suite.textproto' >/dev/null || { echo "FAILED: lists on other data share a folder"; failures=$((failures + 1)); }
expect 2 'lra data prepare listops' "$lra" "${lists[@]}" --quiet --out lists
# Runs on data that was replaced meanwhile do not count.
"$lra" data prepare listops --seed 7 --quiet $(printf -- '--set %s ' "${small[@]}") >/dev/null
expect 1 'failed .*holds a run on other data [(]split train is [0-9a-f]{8}, wanted is [0-9a-f]{8}[)]' "$lra" "${lists[@]}" --quiet --out lists
# Trying again would mend nothing.
expect 1 'runs failed: mend or move away what the lines above name, then the same command goes on$' "$lra" "${lists[@]}" --quiet --out lists
rm -r data/listops
mv elsewhere data/listops
expect 0 '4 of 4 runs finished' "$lra" "${lists[@]}" --quiet --out lists
expect 2 '"relu,"' "$lra" train --task listops --attention relu, --preset smoke
expect 2 'are about lists' "$lra" train --task listops --attention relu --preset smoke --budget 2h
expect 2 'are about lists' "$lra" train --task listops --attention relu --preset smoke --pin-workers

# Whole models start from weights of their own kind.
expect 1 '2 of 4 runs finished, 2 failed' "$lra" "${lists[@]}" --quiet --out from --from whole/listops-linear-smoke-*-s0
expect 0 'attention.name is relu, that run has linear; set it as there' cat from/logs/listops-relu-smoke-*-s0*
# What failed is tried again when somebody asks, and only then; each try adds to the run's log.
tries() { cat from/logs/listops-relu-smoke-*-s0.log | grep -c 'attention.name is relu, that run has linear'; }
once=$(tries)
expect 1 'runs failed: what they wrote is in from/logs; --retry-failed tries again' "$lra" "${lists[@]}" --quiet --out from --from whole/listops-linear-smoke-*-s0
[ "$(tries)" = "$once" ] || { echo "FAILED: failed runs are tried again though nobody asked"; failures=$((failures + 1)); }
expect 1 '2 of 4 runs finished, 2 failed' "$lra" "${lists[@]}" --quiet --out from --from whole/listops-linear-smoke-*-s0 --retry-failed
[ "$(tries)" = "$((2 * once))" ] || { echo "FAILED: --retry-failed tried $(tries) times, not $((2 * once))"; failures=$((failures + 1)); }

# Runs that start from an encoder, beside others that do not; the encoder is one for all.
cat >swap.textproto <<END
description: "of this test"
group {
  task: "listops"
  attention: ["relu", "cosformer"]
  seeds: "0-1"
  preset: "smoke"
  factor {
    name: "start"
    level { name: "initial weights" }
    level { name: "encoder" set: "encoder_weights_sha256={init-from}" }
  }
}
END
encoder=$(ls -d whole/listops-linear-smoke-*-s1)
expect 2 'name that run with --init-from RUN' "$lra" run swap.textproto --quiet --out swap
expect 2 'no run of the suite sets encoder_weights_sha256' "$lra" run mine.textproto --quiet --out mine --init-from "$encoder"
sed 's/set: "encoder_w.*"/set: ["encoder_weights_sha256={init-from}", "model.layers=3"]/' swap.textproto >deep.textproto
expect 2 'init-from .*: model.layers is 3, that run has 1' "$lra" run deep.textproto --quiet --out deep --init-from "$encoder"
[ ! -e deep ] || { echo "FAILED: a suite that cannot be trained has left a folder"; failures=$((failures + 1)); }
expect 0 '8 of 8 runs finished' "$lra" run swap.textproto --quiet --out swap --init-from "$encoder"
expect 0 '8 of 8 runs finished' "$lra" status swap
expect 0 'A table of its own: .*config.encoder_weights_sha256' "$lra" table swap
[ "$(grep -l 'method: "linear"' swap/*/record.textproto | wc -l)" = 4 ] || { echo "FAILED: not 4 runs know whose encoder they took"; failures=$((failures + 1)); }
# Runs that are left start from where the encoder has moved, also those of the folder's own file, which then names it.
started=$(dirname "$(grep -l 'method: "linear"' swap/listops-relu-*-s0/record.textproto)")
mv "$encoder" moved
rm -r "$started"
expect 0 '8 of 8 runs finished' "$lra" run swap.textproto --quiet --out swap --init-from moved
expect 0 'init_from: ".*/moved/' cat swap/suite.textproto
# By hand it is the same run, and so it is on the elements of a job array.
expect 0 '' "$lra" train --task listops --attention relu --preset smoke --quiet --threads 1 --seeds 0 --init-from "$work/moved" --out hand
expect 0 '' "$lra" diff hand "$started"
expect 0 '1 of 1 runs finished' "$lra" run swap/suite.textproto --quiet --out swap --cell "$(basename "$(ls -d swap/listops-relu-*-s1 | head -1)")"
mv moved "$encoder"
rm -r "$started"
expect 0 '8 of 8 runs finished' "$lra" run swap/suite.textproto --quiet --out swap --init-from "$encoder"
expect 2 'its weights are [0-9a-f]{64}, the suite sets encoder_weights_sha256=' "$lra" run swap/suite.textproto --quiet --out swap --init-from "${encoder%1}0"

# Encoders that seeds have of their own: one row, which knows it, also when they are gone. By hand, side by side, they are the same runs.
own="$work/${encoder%1}{seed}"
expect 0 '8 of 8 runs finished' "$lra" run swap.textproto --quiet --out own --init-from "$own"
started=$(dirname "$(grep -l 'method: "linear"' own/listops-relu-*-s1/record.textproto)")
expect 0 '' "$lra" train --task listops --attention relu --preset smoke --quiet --threads 1 --seeds 0-1 --at-once 2 --init-from "$own" --out both
expect 0 '' "$lra" diff both-s1 "$started"
rm -r "$started" && mkdir away && mv "${encoder%1}"[01] away
expect 0 '7 of 8 runs finished' "$lra" status own
expect 0 "another run's encoder, each seed its own" "$lra" table own
expect 2 'each run of the suite has an encoder of its own' "$lra" run own/suite.textproto --quiet --out own --init-from "away/$(basename "$encoder")"
expect 0 '8 of 8 runs finished' "$lra" run own/suite.textproto --quiet --out own --init-from "away/$(basename "${encoder%1}"){seed}"
expect 0 'each seed its own, do so by one recipe a cell' "$lra" ablate own
for seed in 0 1; do ln -s "$(basename "$encoder")" "away/one-$seed"; done
expect 2 'it is of seed 1, and the run of seed 0' "$lra" run swap.textproto --quiet --out other --init-from 'away/one-{seed}'
rm away/one-*
mv away/* "$(dirname "$encoder")"

# A run file beside the suite is kept with its runs; an edited one is another suite.
mkdir filed
echo 'overrides { train { steps: 40 eval_every_steps: 20 } }' >filed/steps.textproto
sed 's/^  set: .*/  run_file: "steps.textproto"/' mine.textproto >filed/mine.textproto
expect 0 '4 of 4 runs finished' "$lra" run filed/mine.textproto --quiet --out filed/runs
expect 0 '4 of 4 runs finished' env -C / "$lra" status "$work/filed/runs"
sed -i 's/40/60/' filed/steps.textproto
expect 1 'another suite' "$lra" run filed/mine.textproto --quiet --out filed/runs
rm filed/steps.textproto
expect 0 '4 of 4 runs finished' "$lra" run filed/runs/suite.textproto --quiet --out filed/runs
# What is kept of its records has it, too.
mkdir -p copy/benchmarks copy/docs/records
cp "$here/../benchmarks/kept_suites.sh" copy/benchmarks
expect 0 '^kept$' env LRA="$lra" bash -c 'bash copy/benchmarks/kept_suites.sh keep "$0" && echo kept' "$work/filed/runs"
expect 0 '4 of 4 runs finished' "$lra" status copy/docs/records/runs

# Another suite does not go into the same folder.
sed 's/steps=40/steps=60/' mine.textproto >other.textproto
expect 1 'another suite' "$lra" run other.textproto --quiet --out whole
expect 2 'data holds no suite .*lra run' "$lra" status data

[ "$failures" = 0 ] && echo "lra run: as expected" || exit 1
