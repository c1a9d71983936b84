#!/usr/bin/env bash
# Every subcommand with --json prints JSON and nothing else to standard output, and ends with the exit codes of
# docs/command_line.md. A subcommand that is not tried here is an error.
# usage: command_line_test.sh LRA PAGE
set -euo pipefail
lra=$(realpath "$1")
source "$(dirname "$0")/await.sh"
page=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# json CODE WORD... -- ARGUMENT...: the subcommand of these words, with these arguments.
tried=()
json() {
  local code=$1 actual=0 command=lra
  shift
  local words=()
  while [ "$1" != -- ]; do words+=("$1"); command+=" $1"; shift; done
  shift
  tried+=("$command")
  "$lra" "${words[@]}" "$@" --json --quiet >out 2>err </dev/null || actual=$?
  [ "$actual" = "$code" ] || fail "$command $*: exit code $actual, not $code: $(cat err)"
  python3 -c 'import json; json.load(open("out"))' 2>/dev/null || fail "$command $*: no JSON: $(head -c 300 out) $(cat err)"
}
# The output of the last command gives a run its interval.
has_interval() {
  python3 -c 'import json; found = json.load(open("out")); low, high = found["interval"]; assert low <= found["value"] <= high, found' || fail "$(cat out)"
}
# refused CODE ARGUMENT...: nothing on standard output, a reason on standard error.
refused() {
  local code=$1 actual=0
  shift
  "$lra" "$@" --json --quiet >out 2>err </dev/null || actual=$?
  [ "$actual" = "$code" ] || fail "$*: exit code $actual, not $code"
  [ ! -s out ] || fail "$*: prints $(cat out)"
  grep -q '^lra: ' err || fail "$*: says $(cat err)"
}

small=(--set min_length_tokens=20 --set max_length_tokens=120 --set train_examples=300 --set validation_examples=60 --set test_examples=60)
smoke=(--task listops --preset smoke --set train.steps=4 --set train.eval_every_steps=2)
json 0 data prepare -- listops "${small[@]}"
json 0 data prepare -- listops "${small[@]}" # there already
json 0 data prepare -- listops "${small[@]}" --shard 0/2 --out part-0
json 0 data prepare -- listops "${small[@]}" --shard 1/2 --out part-1
json 0 data join -- part-0 part-1 --out joined
json 0 data verify -- joined
json 0 data show -- listops --n 2
json 0 data list --
# A copy of the data under another name is a data-only task.
mkdir data/mine && cp data/listops/*.npy data/mine/
sed -e '$d' -e 's/name: "listops"/name: "mine"/' data/listops/manifest.textproto >mine
{ cat mine; echo "# sha256: $(sha256sum <mine | cut -d' ' -f1)"; } >data/mine/manifest.textproto
json 0 data adopt -- mine
{ echo text,label; for id in $(seq 20); do echo "text $id,$((id % 2))"; done; } >texts.csv
json 0 data import -- lines --all texts.csv
json 0 data export -- listops --out arrays --preset smoke
json 0 list --
json 0 list -- tasks listops
json 0 list -- attentions cosformer
json 0 list -- blocks mixer
json 0 list -- protocols
json 0 list -- suites
json 0 list -- suites listops_smoke
json 0 list -- attentions --params
json 0 baseline -- listops
json 0 check -- identity
json 0 init -- "${smoke[@]}"
json 0 config -- --config run.textproto
json 0 config -- --config run.textproto --groups
json 0 train -- --config run.textproto --dry-run
json 0 train -- --config run.textproto --out runs/linear
json 0 train -- "${smoke[@]}" --attention transformer --out runs/transformer
json 0 train -- --task listops --preset smoke --set train.steps=4 --attention linear,relu --seeds 0 --out runs/lists
json 0 run -- listops_smoke --dry-run
refused 2 quickstart           # its data are others
tried+=("lra quickstart")      # tests/quickstart_test.sh lets it go on, and reads its JSON
json 0 status -- runs/lists
json 0 ablate -- runs/lists
json 0 papers -- cosformer2022
json 0 eval -- runs/linear
has_interval
json 0 attend -- runs/linear --out maps
json 0 train -- "${smoke[@]}" --attention linear --set view.target=NEXT --set attention.causal=true --out guesses/linear
json 0 generate -- guesses/linear --given 5
# Bytes that are no UTF-8: JSON has a mark in their place beside the ids.
mkdir -p texts/train texts/test
seq 1000 2000 >texts/train/numbers.txt
seq 3000 3400 >texts/test/numbers.txt
json 0 data prepare -- bytes_lm --raw texts --set piece_bytes=60
json 0 data show -- bytes_lm --n 1 # without labels
python3 -c 'import json; shown = json.load(open("out"))[0]; assert "label" not in shown and shown["source"], shown' || fail "$(cat out)"
json 0 train -- --task bytes_lm --preset smoke --set train.steps=2 --set train.eval_every_steps=2 --attention linear --out guesses/bytes
json 0 generate -- guesses/bytes --prompt $'\xffa"' --tokens 3 --examples 1
python3 -c 'import json; text = json.load(open("out"))["texts"][0]; assert text["text"] == "\ufffda\"" and text["ids"] == [256, 98, 35], text' || fail "$(cat out)"
# Bits have the unit that tables give them on the task.
unit() { # UNIT ARGUMENT...
  local unit=$1
  shift
  "$lra" generate "$@" --examples 1 --quiet >out 2>err </dev/null || fail "generate $*: $(cat err)"
  grep -qE "^0: [0-9]+ given, [0-9]+ drawn, [0-9.]+ $unit\$" out || fail "generate $*: not in $unit: $(head -c 300 out)"
}
unit bits/token guesses/linear --given 5 --tokens 9
unit bits/byte guesses/bytes --prompt a --tokens 9
json 0 generate -- guesses/linear --given 5 --temperature 0
python3 -c 'import json; facts = json.load(open("out")); assert "seed" not in facts and "top_k" not in facts, facts' || fail "$(cat out)"
# Code points are printed as their characters.
json 0 train -- --task bytes_lm --preset smoke --set train.steps=2 --set train.eval_every_steps=2 --set view.unit=CODE_POINT --attention linear --out guesses/points
unit bits/token guesses/points --given 4 --tokens 9
grep -qE '^  given: ([0-9]|\\n){4}$' out || fail "$(cat out)"
refused 2 generate guesses/points --prompt a
grep -q 'prompt: takes bytes, but the run reads code points (view.unit=CODE_POINT)' err || fail "$(cat err)"
refused 2 export guesses/linear --pytorch --out exported
refused 2 generate runs/linear
# Beside a run right in the folder, those below would no longer be listed; nor would those of a list below a run.
refused 2 train "${smoke[@]}" --attention linear --out runs
grep -q 'runs holds other runs, such as runs/.*: name a folder of its own, e.g. --out runs/NAME' err || fail "$(cat err)"
refused 2 train "${smoke[@]}" --attention linear,relu --out runs/linear
grep -q 'runs/linear is the folder of a run' err || fail "$(cat err)"
json 0 export -- runs/linear --pytorch --out exported
json 0 locality -- runs/linear
json 0 profile -- runs/linear
json 0 table -- runs
json 0 table -- runs/linear --verify
json 0 report -- runs --out page.html
json 0 compare -- majority root_operator
json 0 power -- --examples 2000 --seeds 5
json 0 diff -- runs/linear runs/linear
json 0 runs --
json 0 watch -- runs/linear
json 0 doctor -- runs/linear
json 0 man --
python3 - <<'PYTHON' || fail 'no predictions were written'
import struct
# [60, 10] zeros as numpy.save writes them.
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (60, 10), }"
head += b" " * (-(len(head) + 11) % 64) + b"\n"
open("p.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(60 * 10 * 4))
PYTHON
json 0 score -- --data listops --predictions p.npy --name mine --preset smoke
has_interval
json 0 bench data -- --task listops --attention linear --preset smoke --batches 2 --steps 2

# A result that could not be written.
for words in 'table runs' list 'config --config run.textproto --json' --help man; do
  actual=0
  # shellcheck disable=SC2086
  "$lra" $words >/dev/full 2>err || actual=$?
  [ "$actual" = 1 ] && grep -qx 'lra: standard output: cannot write: No space left on device' err ||
    fail "$words to a full disk: exit code $actual: $(cat err)"
done
# A reader that has left, where its signal is ignored as batch systems and Python do.
{ sleep 0.5; (trap '' PIPE && exec "$lra" list 2>err); } | true
[ ! -s err ] || fail "list to a closed pipe says $(cat err)"

# The answer is no.
json 1 diff -- runs/linear runs/transformer
printf '\x07' | dd of="$(ls data/listops/train-*.tokens.npy)" bs=1 seek=300 conv=notrunc status=none
json 1 data verify -- listops
python3 -c 'import json; found = json.load(open("out")); assert not found["valid"] and "was changed" in found["problems"][0], found' || fail "$(cat out)"
refused 1 train "${smoke[@]}" --attention linear --out runs/spoilt
# Wrong use.
for words in 'trian' 'train --sedes 1' 'data verify lisops' 'train --task listops --attention linaer' 'list attentons' \
  'eval runs/nothing' 'init run.textproto' 'config --config nothing' 'train --task listops --attention linear --set train.stesp=3' \
  'completion csh' 'table nothing' 'run nothing'; do
  # shellcheck disable=SC2086
  refused 2 $words
done
# Another process has the folder.
"$lra" train --task listops --data joined --preset smoke --attention linear --quiet --out runs/long --set train.steps=1000000 >long.log 2>&1 &
pid=$!
await "$pid" test -e runs/long/curve.jsonl || fail "a long run does not begin: $(cat long.log)"
refused 75 train --task listops --data joined --preset smoke --attention linear --out runs/long --set train.steps=1000000 --resume
kill "$pid"
actual=0
wait "$pid" || actual=$?
[ "$actual" = 1 ] || fail "a run that was stopped ended with $actual: $(cat long.log)"

# Every subcommand was tried, and the page names every exit code as the program does.
"$lra" man --json >man.json
printf '%s\n' "${tried[@]}" >tried
python3 - "$page" <<'PYTHON' || failures=$((failures + 1))
import json, sys
program, tried, page = json.load(open("man.json")), set(open("tried").read().splitlines()), open(sys.argv[1]).read()
def leaves(command):
    return [leaf for below in command["commands"] for leaf in leaves(below)] if command["commands"] else [command]
bad = []
# What `completion` prints is a script. The other measurements take half a minute each; bench_cli_test.sh tries them.
left_out = {"lra completion"} | {"lra bench " + name for name in ("attention", "cell", "efficiency", "generate", "step")}
for command in leaves(program):
    if command["command"] not in tried | left_out:
        bad.append(command["command"] + " was not tried with --json")
    if "--json" not in [flag["name"] for flag in command["flags"]]:
        bad.append(command["command"] + " has no --json")
for code, meaning in program["exit_codes"].items():
    if f"| {code} | {meaning} |" not in page:
        bad.append(f"the page does not say that {code} is: {meaning}")
print("\n".join("FAILED: " + line for line in bad), end="\n" if bad else "")
sys.exit(bool(bad))
PYTHON
[ $failures = 0 ] && echo "ok: ${#tried[@]} commands with --json"
exit $((failures > 0))
