#!/usr/bin/env bash
# Two machines that share a folder whose locks do not reach from one to the other train the same run: the second is refused
# while the first lives, takes over when it is silent, and the first, awake again, writes nothing more. The second machine is
# this one with another boot id, and a lock that does not reach is one whose file was removed.
# usage: shared_folder_test.sh LRA    exit code 77 where mounts are not allowed (tests/skip.sh)
set -euo pipefail
unset CDPATH
lra=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
source "$here/skip.sh"
source "$here/await.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo 00000000-0000-4000-8000-000000000000 >boot_id
elsewhere() { unshare -m bash -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"' "$work/boot_id" "$@"; }
elsewhere true 2>/dev/null || skip "this needs to mount a file (root)"
fail() { echo "FAILED: $*"; exit 1; }
"$lra" data prepare listops --quiet --out data --set min_length_tokens=20 --set max_length_tokens=120 --set train_examples=300 \
  --set validation_examples=60 --set test_examples=60 >/dev/null
train=("$lra" train --task listops --attention linear --preset smoke --data data --quiet --threads 1 --resume
  --set train.eval_every_steps=400 --set train.log_every_steps=200)
# The second is refused when the first says that it lives, every 10 s: a fast machine trains longer, for 45 s and more.
begin=${EPOCHREALTIME/[.,]/}
"${train[@]}" --set train.steps=1200 --out short >/dev/null
steps=$((45000000 * 1200 / (${EPOCHREALTIME/[.,]/} - begin)))
train+=(--set train.steps=$((steps > 16000 ? steps : 16000)))
"${train[@]}" --out alone >/dev/null

"${train[@]}" --out run >first.log 2>&1 &
first=$!
await $first test -e run/checkpoint/latest || fail "the first saves nothing: $(cat first.log)"
rm run/.lock
code=0
elsewhere "${train[@]}" --out run >second.log 2>&1 || code=$?
[ $code = 75 ] || fail "beside a process that lives: exit code $code: $(cat second.log)"
grep -q "last held by process $first of host .*waiting" second.log || fail "$(cat second.log)"
kill -0 $first || fail "the first ended before it was stopped: $(cat first.log)"

# While it writes a checkpoint, if one is met: who takes over removes what is half-written.
for _ in $(seq 300); do
  kill -STOP $first || fail "the first ended before it was stopped: $(cat first.log)"
  half_written=$(compgen -G 'run/checkpoint/*.tmp-*') && break
  kill -CONT $first
  sleep 0.02
done
kill -STOP $first
rm -f run/.lock
begin=$SECONDS
elsewhere "${train[@]}" --out run >third.log 2>&1 || fail "the taking over: $(cat third.log)"
[ $((SECONDS - begin)) -ge 30 ] || fail "taken over after $((SECONDS - begin)) s"
kill -CONT $first
code=0
wait $first || code=$?
[ $code = 75 ] || fail "the first, taken over, ended with $code: $(cat first.log)"
for file in curve.jsonl predictions.npy checkpoint/latest; do cmp "alone/$file" "run/$file"; done
[ -z "$(ls -A run | grep lease)" ] || fail "a lease was left"
echo "refused, taken over, told${half_written:+ in the middle of a checkpoint}: the run equals an undisturbed one ($(tail -n 1 first.log))"
