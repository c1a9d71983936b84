# What the tests of data parallel training share. They set $lra, $work, a folder, and $here, that of the tests.
source "$here/await.sh"
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# A port that nobody has, below those that systems give to clients; random beside other tests.
free_port() {
  python3 - <<'END'
import random, socket
while True:
    port = random.SystemRandom().randrange(10000, 20000)
    with socket.socket() as one:
        try:
            one.bind(("", port))
        except OSError:
            continue
    print(port)
    break
END
}

# begin PROCESSES OUT flag...: starts the processes of a run in the background as torchrun would; $pids are theirs, and
# rank r's output is in OUT.r.log.
begin() {
  local count=$1 out=$2 rank port
  shift 2
  port=$(free_port)
  pids=()
  for ((rank = 0; rank < count; rank++)); do
    RANK=$rank WORLD_SIZE=$count LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$count MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      "$lra" train --out "$out" --threads 1 --quiet "$@" >"$out.$rank.log" 2>&1 &
    pids+=($!)
  done
}

# finish OUT: waits for all of them; all must succeed.
finish() {
  local rank=0 pid code
  for pid in "${pids[@]}"; do
    code=0
    wait "$pid" || code=$?
    [ "$code" = 0 ] || fail "$1: rank $rank ended with $code: $(cat "$1.$rank.log")"
    rank=$((rank + 1))
  done
}

# train PROCESSES OUT flag...
train() { begin "$@"; finish "$2"; }

# same_bits A B STEP: weights, moments, curves and what was scored are equal: predictions, or scores of examples whose tokens
# are guessed.
same_bits() {
  local file scored=("$1"/*-validation.npy)
  [ -e "${scored[0]}" ] || fail "$1: nothing was scored"
  for file in checkpoint/step-$3/weights.safetensors checkpoint/step-$3/optimizer.safetensors curve.jsonl "$1"/*.npy; do
    file=${file#"$1"/}
    cmp "$1/$file" "$2/$file" || fail "$1 and $2 differ in $file"
  done
  "$lra" diff "$1" "$2" >"$work/diff" || fail "$1 and $2 differ: $(cat "$work/diff")"
}

# close A B TOLERANCE: the losses of two curves differ by no more, relatively; prints the largest difference.
close() {
  python3 - "$@" <<'END' || fail "the losses of $1 and $2"
import json, sys
a, b = ([json.loads(line) for line in open(run + "/curve.jsonl")] for run in sys.argv[1:3])
assert len(a) == len(b) > 1, (len(a), len(b))
losses = [(x[name], y[name]) for x, y in zip(a, b) for name in ("train_loss", "validation_loss") if name in x]
worst = max(abs(x - y) / x for x, y in losses)
print(f"{sys.argv[2]} against {sys.argv[1]}: {len(losses)} losses, the largest relative difference is {worst:.1e}")
assert worst <= float(sys.argv[3]), worst
END
}

# kill_one OUT RANK: waits until the run has a checkpoint, kills that rank (begin) with -9, and checks that the others
# end with an error that names it, in less than a minute, and leave a checkpoint.
kill_one() {
  local out=$1 victim=$2 rank code began
  await "${pids[$victim]}" test -e "$out/checkpoint/latest" || fail "$out: no checkpoint: $(cat "$out.$victim.log")"
  kill -9 "${pids[$victim]}" || fail "$out: rank $victim ended before it could be killed"
  began=$(date +%s%N)
  wait "${pids[$victim]}" 2>/dev/null || true
  for rank in "${!pids[@]}"; do
    if [ "$rank" = "$victim" ]; then continue; fi
    code=0
    wait "${pids[$rank]}" || code=$?
    [ "$code" = 1 ] || fail "$out: rank $rank ended with $code, not 1"
    grep -q "rank $victim .* is gone or does not answer" "$out.$rank.log" || fail "$out: rank $rank says $(cat "$out.$rank.log")"
  done
  milliseconds=$((($(date +%s%N) - began) / 1000000))
  [ "$milliseconds" -lt 60000 ] || fail "$out: the others ended after $milliseconds ms"
  echo "$out: rank $victim of ${#pids[@]} killed at $(cat "$out/checkpoint/latest"), the others ended after $milliseconds ms"
}

end_test() {
  [ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
}
