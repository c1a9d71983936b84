#!/usr/bin/env bash
# Trains a suite of 24 runs through a real Slurm while workers are killed and preempted: every run must be there once, bit for
# bit that of processes of this machine. Then a run that is killed for want of memory, as far as it can tell, and parts of
# generated data through the same Slurm.
# usage: slurm_suite_test.sh LRA    exit code 77 where Slurm is not installed (tests/skip.sh)
set -euo pipefail
unset CDPATH
lra=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
source "$here/skip.sh"
source "$here/slurm_cluster.sh"
missing=$(slurm_missing)
[ -z "$missing" ] || skip "$missing"
# A mount namespace of its own: what is mounted below goes with the test.
if [ -z "${LRA_OWN_MOUNTS:-}" ] && unshare -m --propagation private true 2>/dev/null; then
  exec env LRA_OWN_MOUNTS=1 unshare -m --propagation private "$0" "$@"
fi
work=$(mktemp -d)
slurm_daemons=()
trap 'stop_cluster; rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data
source "$here/expect.sh"
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

small=(min_length_tokens=20 max_length_tokens=120 train_examples=300 validation_examples=60 test_examples=60)
"$lra" data prepare listops --quiet $(printf -- '--set %s ' "${small[@]}") >/dev/null
cat >mine.textproto <<SUITE
description: "of this test"
group {
  task: "listops"
  attention: ["linear", "relu"]
  seeds: "0-11"
  preset: "smoke"
  set: ["train.steps=1000", "train.eval_every_steps=100", "train.log_every_steps=20"]
}
SUITE
echo "seed of the kills: ${LRA_SLURM_TEST_SEED:=1}"
RANDOM=$LRA_SLURM_TEST_SEED
start_cluster "$work/cluster"
slurm=(run mine.textproto --quiet --executor slurm --out far)

expect 0 'array=0-23%3' "$lra" "${slurm[@]}" --at-most 3 --dry-run
[ -z "$(squeue --noheader)" ] || fail "a plan submitted something"
expect 1 'sbatch refused .*nosuch|sbatch refused .*[Pp]artition' "$lra" "${slurm[@]}" --partition nosuch
[ -z "$(ls far/slurm/*.sh 2>/dev/null)" ] || fail "what was refused left a script"
# What users set for their own jobs goes over nothing that lra says, and hides nothing from it.
mine=(env SBATCH_JOB_NAME=mine SBATCH_ARRAY_INX=0 SBATCH_TIMELIMIT=1 SBATCH_NO_REQUEUE=1 SBATCH_WAIT=1 SQUEUE_STATES=SUSPENDED)
expect 0 '24 left, 24 of them queued' "${mine[@]}" "$lra" "${slurm[@]}" --at-most 3
# Asked again, nothing is submitted twice.
expect 0 'of them queued' "${mine[@]}" "$lra" "${slurm[@]}" --at-most 3
[ "$(ls far/slurm/*.sh | wc -l)" = 1 ] || fail "queued runs were submitted again"
expect 0 'Slurm job [0-9]+_[0-9]+ (pending|running)' "$lra" status far
expect 0 'scancel [0-9]+$' "$lra" status far

# The element of Slurm that started a process of this machine, as JOB_TASK.
element_of() {
  variable() { tr '\0' '\n' <"/proc/$1/environ" | sed -n "s/^SLURM_ARRAY_$2_ID=//p"; }
  echo "$(variable "$1" JOB)_$(variable "$1" TASK)"
}
# Processes whose command line holds a word, of elements that Slurm runs: what outlives a script that was killed is nobody's, and
# nothing can be taken from it.
processes() {
  local process running
  running=$(squeue --noheader --array --states=RUNNING --format=%F_%K)
  for process in $(pgrep -f -- "$1"); do
    if grep -qx "$(element_of "$process" 2>/dev/null)" <<<"$running"; then echo "$process"; fi
  done
}
one_of() { [ $# = 0 ] || echo "${@:1+RANDOM%$#:1}"; }
# A requeued element waits two minutes unless somebody asks.
hurry() {
  local element
  for element in $(squeue --noheader --array --states=PENDING --format='%F_%K %r' | sed -n 's/ BeginTime$//p'); do
    scontrol update job="$element" StartTime=now 2>/dev/null || true
  done
}
finished() { ls far/*/record.textproto 2>/dev/null | wc -l; }
# victim PATTERN: a process that trains a run of this test and has begun.
victim() {
  local found=""
  while [ -z "$found" ] && [ -n "$(squeue --noheader)" ]; do
    hurry
    sleep 0.2
    found=$(processes "$1")
  done
  # shellcheck disable=SC2086
  one_of $found
}
killed=0
for pattern in " train .*--out $work/far/" " run $work/far/suite.textproto" "$work/cluster/spool/job.*/slurm_script"; do
  while [ "$(finished)" -lt $((2 + 2 * killed)) ] && [ -n "$(squeue --noheader)" ]; do hurry; sleep 0.2; done
  # One that ends just then is not counted: another is looked for.
  while process=$(victim "$pattern") && [ -n "$process" ]; do
    command=$(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | cut -c1-80) || true
    kill -9 "$process" 2>/dev/null || continue
    echo "kill -9 of $process ($command...) after $(finished) runs"
    killed=$((killed + 1))
    break
  done
  [ -n "$process" ] || fail "nothing matches $pattern"
done
[ "$killed" = 3 ] || fail "only $killed workers were killed"
# A job of a higher partition takes the whole node; Slurm queues the elements again. One of them is stopped until then: it would
# otherwise end at just that time, now and then, and with it the reason to take anything from anybody. Where it did, another is
# looked for as soon as the job is through.
was_preempted() { grep -qs 'DUE TO PREEMPTION' far/slurm/*.log; }
preempt() {
  local process=$1
  kill -STOP "$process" 2>/dev/null || return 1
  sbatch --quiet --partition=urgent --cpus-per-task=4 --output=/dev/null --wrap='sleep 3'
  while ! was_preempted && [ -n "$(squeue --noheader --partition=urgent)" ]; do sleep 0.1; done
  kill -CONT "$process" 2>/dev/null || true # Slurm lets go on what it ends
  was_preempted
}
while [ -n "$(squeue --noheader)" ]; do ! preempt "$(victim " train .*--out $work/far/")" || break; done
# What Slurm does near a time limit: the run saves, and its element is queued again. One that ends just then does not count.
was_near=0
near_limit() {
  local process=$1 run element
  run=$(tr '\0' '\n' <"/proc/$process/cmdline" | grep "^$work/far/") || return 1
  element=$(element_of "$process")
  while [ -d "/proc/$process" ] && [ ! -e "$run/checkpoint/latest" ]; do sleep 0.05; done
  scancel --batch --signal=USR1 "$element" || true # it complains where the job reacts at once
  for _ in $(seq 600); do
    if grep -q "exit code 75: $element is queued again" "far/slurm/$element.log"; then echo "near its limit: $element"; return; fi
    [ ! -e "$run/record.textproto" ] || return 1
    sleep 0.1
  done
  return 1
}
while [ -n "$(squeue --noheader)" ]; do near_limit "$(victim " train .*--out $work/far/")" 2>/dev/null && was_near=1 && break; done
[ "$was_near" = 1 ] || fail "no element was queued again near its limit"
while [ -n "$(squeue --noheader)" ]; do hurry; sleep 0.5; done
grep -q 'is queued again' far/slurm/*.log || fail "no element queued itself again"
grep -q 'DUE TO PREEMPTION' far/slurm/*.log || fail "no element was preempted"

# What no element finished is submitted again, and nothing else.
before=$(finished)
if [ "$before" -lt 24 ]; then
  "$lra" "${slurm[@]}" >/dev/null || fail "the second submission"
  left=$(grep -cs "listops-" far/slurm/2.textproto) || fail "$before of 24 runs were finished, and nothing was submitted again"
  [ $((before + left)) = 24 ] || fail "$before runs were finished, $left were submitted again"
  while [ -n "$(squeue --noheader)" ]; do hurry; sleep 0.5; done
fi
expect 0 '24 of 24 runs finished' "$lra" "${slurm[@]}"
[ -z "$(squeue --noheader)" ] || fail "a finished suite was submitted"
expect 0 '24 of 24 runs finished' "$lra" run mine.textproto --quiet --out whole
"$lra" table whole >whole.txt
"$lra" table far | sed 's/far/whole/' >far.txt
diff whole.txt far.txt || fail "the tables differ"
for run in whole/listops-*; do
  name=$(basename "$run")
  for file in curve.jsonl predictions.npy checkpoint/latest; do cmp "$run/$file" "far/$name/$file" || fail "$name/$file"; done
  [ "$(grep -c test_looks "far/$name/record.textproto")" = "$(grep -c test_looks "$run/record.textproto")" ] || fail "$name: test looks"
done
echo "$(cat far/slurm/*.log | grep -c 'queued again') elements queued themselves again, $(grep -c 'CANCELLED' <(cat far/slurm/*.log)) were ended by Slurm"

# What the system kills for want of memory is not begun again with as little. It counts such kills; here a file stands for its
# counter, and what is killed after it has grown was killed so. Prints where the counter is, nothing where there is none.
kill_counter() {
  local number controllers group file
  while IFS=: read -r number controllers group; do
    case $controllers in
      memory) file=/sys/fs/cgroup/memory${group%/}/memory.oom_control ;;
      '') file=/sys/fs/cgroup${group%/}/memory.events ;;
      *) continue ;;
    esac
    if [ -e "$file" ]; then echo "$file"; return; fi
  done </proc/self/cgroup
}
counter=$(kill_counter)
echo "oom_kill 0" >kills
if [ -n "$counter" ] && [ -n "${LRA_OWN_MOUNTS:-}" ] && mount --bind kills "$counter"; then
  sed 's/attention: .*/attention: "linear"/; s/seeds: .*/seeds: "0"/' mine.textproto >one.textproto
  one=(run one.textproto --quiet --executor slurm --time 1h --out large)
  expect 0 '1 left, 1 of them queued' "$lra" "${one[@]}" --memory 1GB
  process=$(victim " train .*--out $work/large/")
  echo "oom_kill 1" >kills
  kill -9 "$process" || fail "no process of the large run was killed"
  while [ -n "$(squeue --noheader)" ]; do hurry; sleep 0.2; done
  ! grep 'is queued again' large/slurm/*.log || fail "what lacked memory was begun again with as little"
  expect 0 'failed .*killed for want of memory, of which its job had 1.0 GB: .* --memory 2GB[)]' "$lra" status large
  expect 1 'runs failed: .*--retry-failed' "$lra" "${one[@]}"
  expect 0 'mem=1908M$' "$lra" "${one[@]}" --retry-failed --dry-run
  expect 0 '1 of them queued' "$lra" "${one[@]}" --retry-failed --memory 3GB
  while [ -n "$(squeue --noheader)" ]; do hurry; sleep 0.2; done
  expect 0 '1 of 1 runs finished' "$lra" "${one[@]}"
  grep -q 'mem=2862M$' large/slurm/2.sh || fail "the memory that was asked for: $(grep mem= large/slurm/2.sh)"
  umount "$counter"
else
  echo "not tried: a run that lacks memory (no control group counts kills, or nothing may be mounted over its counter)"
fi

# Generated data in parts: a part is killed, and asked for again; the whole must equal, byte for byte, what one process makes.
# Their folder is named as what Slurm replaces in names of logs.
pictures=(data prepare pathfinder32 --set images=600 --threads 1 --quiet)
parts=parts%A
"$lra" "${pictures[@]}" --out one >/dev/null
scontrol update partitionname=work state=down # so that the parts wait
expect 0 'in Slurm.s queue; .* scancel [0-9]+ [0-9]+$' "$lra" "${pictures[@]}" --out "$parts" --executor slurm --parts 8
[ "$(squeue --noheader --array --states=PENDING | wc -l)" = 9 ] || fail "not 8 parts and a job that joins them: $(squeue --noheader --array)"
job=$(sed -n 's/^job: "\([0-9]*\)"/\1/p' "$parts.parts/slurm/1.textproto")
scancel "${job}_5"
scontrol update partitionname=work state=up
while [ -n "$(squeue --noheader)" ]; do sleep 0.2; done
[ ! -e "$parts" ] || fail "seven parts of eight were joined"
[ -e "$parts.parts/slurm/${job}_0.log" ] || fail "no log of part 0: $(ls -d "$parts.parts/slurm"/* parts*)"
expect 0 'in Slurm.s queue' "$lra" "${pictures[@]}" --out "$parts" --executor slurm --parts 8
grep -c '^item:' "$parts.parts/slurm/3.textproto" | grep -qx 1 || fail "parts that are there were asked for again"
while [ -n "$(squeue --noheader)" ]; do sleep 0.2; done
diff -r one "$parts" || fail "parts do not join to the whole: $(tail -n 3 "$parts.parts/slurm"/*.log)"
[ -z "$(ls -d "$parts.parts"/[0-9]* 2>/dev/null)" ] || fail "joined parts were left"
expect 0 'nothing was done' "$lra" "${pictures[@]}" --out "$parts" --executor slurm --parts 8

[ "$failures" = 0 ] && echo "--executor slurm: as expected" || { tail -n 5 far/slurm/*.log cluster/*.log; exit 1; }
