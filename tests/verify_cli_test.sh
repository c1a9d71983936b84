#!/usr/bin/env bash
# Changes one thing of a run at a time; `lra table --verify` must name it.
# usage: verify_cli_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LRA_DATA=$work/data
source "$here/expect.sh"

small=(min_length_tokens=20 max_length_tokens=120 train_examples=200 validation_examples=60 test_examples=60)
"$lra" data prepare listops --quiet $(printf -- '--set %s ' "${small[@]}") >/dev/null
train=(train --task listops --preset smoke --set train.steps=20 --set train.eval_every_steps=10 --quiet)
"$lra" "${train[@]}" --attention linear --out whole/linear >/dev/null
"$lra" "${train[@]}" --attention relu --half-logits --out whole/half >/dev/null
"$lra" baseline listops --quiet >/dev/null
mv runs/listops-baseline-majority whole/majority

verify=("$lra" table --verify --quiet)
expect 0 'verified whole/linear: .* predictions made anew: [0-9]+ bit for bit$' "${verify[@]}" whole
expect 0 'verified whole/half: .* predictions made anew: [0-9]+ bit for bit$' "${verify[@]}" whole
expect 0 '^not verified whole/majority: 6 files as recorded; not made anew: a baseline has no checkpoint' "${verify[@]}" whole
expect 0 '^3 runs: 2 verified, 0 changed, 1 not verified' "${verify[@]}" whole
expect 0 '"is_verified": true' "${verify[@]}" whole --json
expect 2 'no table' "${verify[@]}" whole --format md
expect 2 '--verify-examples requires --verify' "$lra" table whole --verify-examples 3
expect 2 'no runs below' "${verify[@]}" data
# Where tokens are guessed: the scores of examples.
copies=(min_symbols=3 max_symbols=6 train_examples=200 validation_examples=60 test_examples=60)
"$lra" data prepare copy --quiet $(printf -- '--set %s ' "${copies[@]}") >/dev/null
"$lra" train --task copy --attention linear --preset smoke --quiet --out tokens/linear >/dev/null
expect 0 '^verified tokens/linear: [0-9]+ files as recorded; (240|480) scores of examples made anew: (240|480) bit for bit$' "${verify[@]}" tokens
expect 0 '^verified tokens/linear: .*; [0-9]+ scores of examples made anew: [0-9]+ bit for bit$' "${verify[@]}" tokens --verify-examples 1
expect 0 '"scores": ' "${verify[@]}" tokens --json

looks=$(grep -c 'command' whole/linear/test_looks.textproto)

# Overwrites one byte of a copy of the run: change FILE OFFSET, the latter from the end where negative.
change() {
  rm -rf one && mkdir one && cp -r "whole/${run:-linear}" one/run
  python3 - "one/run/$1" "$2" <<'PY'
import sys
path, at = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, "rb").read())
data[at] ^= 0x41
open(path, "wb").write(data)
PY
}
# found FILE PATTERN: one/run is changed, and only there.
found() {
  expect 1 "^  one/run/$1: .*$2" "${verify[@]}" one
  grep -q '^1 run: 0 verified, 1 changed, 0 not verified$' "$work/out" || { echo "FAILED: $1 is not counted"; failures=$((failures + 1)); }
  [ "$(grep -c '^  one/run/' "$work/out")" = 1 ] || { echo "FAILED: $1 is not alone"; cat "$work/out"; failures=$((failures + 1)); }
}
step=$(basename "$(ls -d whole/linear/checkpoint/step-* | tail -1)")

change record.textproto 300
found record.textproto 'was changed.*by record.json, line [0-9]+: byte 300 is 0x'
change record.json 200
found record.json 'by record.textproto, line [0-9]+: byte 200 is 0x'
# 128 bytes of header, then 10 logits of 4 bytes an example: class 2 of example 7.
change predictions.npy $((128 + (7 * 10 + 2) * 4 + 1))
found predictions.npy 'was changed: SHA-256 is .*; example 7, class 2: byte 417 is 0x.*, expected 0x'
change predictions.npy 20
found predictions.npy '; its header: byte 20 is'
run=half change predictions-validation.npy $((128 + (7 * 10 + 2) * 2 + 1))
found predictions-validation.npy '; example 7, class 2: byte 273 is'
change accuracy.npy 130
found accuracy.npy 'was changed: SHA-256 is .*; examples 16 to 23: byte 130 is'
change "checkpoint/$step/weights.safetensors" -5
found "checkpoint/$step/weights.safetensors" 'SHA-256 is .*; its tensors are not those of'
change "checkpoint/$step/optimizer.safetensors" -5
found "checkpoint/$step/optimizer.safetensors" 'SHA-256'
change "checkpoint/$step/state.textproto" 100
found "checkpoint/$step/state.textproto" 'was changed: its last line says sha256'
# A float64 an example.
run=../tokens/linear change nats.npy $((128 + 7 * 8 + 6))
found nats.npy 'was changed: SHA-256 is .*; example 7: holds .*, the checkpoint gives'
truncate -s -8 one/run/nats.npy
found nats.npy 'was changed: SHA-256 is .*; .*nats.npy: '
change checkpoint/latest 0
found checkpoint/latest 'should hold step-<number>'
change predictions.npy -1
truncate -s -1 one/run/predictions.npy
found predictions.npy '; example 59, class 9: byte 2527 is nothing'

# Somebody changes what a record says and seals it again.
reseal() {
  rm -rf one && mkdir one && cp -r "whole/${run:-linear}" one/run && rm one/run/record.json
  python3 - one/run "$1" <<'PY'
import array, hashlib, re, sys
folder, what = sys.argv[1:]
path = folder + "/record.textproto"
text = open(path).read().rsplit("# sha256: ", 1)[0]


def forge(name, edit):
    """Changes a file and what the record says of its digest."""
    global text
    data = bytearray(open(folder + "/" + name, "rb").read())
    old = hashlib.sha256(data).hexdigest()
    data = edit(data)
    open(folder + "/" + name, "wb").write(data)
    text = text.replace(old, hashlib.sha256(data).hexdigest())


def turn(data):  # another class is guessed for example 3
    row = slice(128 + 3 * 40, 128 + 4 * 40)
    data[row] = data[row][4:] + data[row][:4]
    return data


def flip(data):  # of examples 16 to 23, one is right where it was wrong, or the reverse
    data[130] ^= 1
    return data


def scale(data):  # the same guesses, with another loss
    return data[:128] + array.array("f", [20 * x for x in array.array("f", bytes(data[128:]))]).tobytes()


def cut(data):  # the first 30 of 60 examples
    return data[: 128 + 30 * 40].replace(b"(60, 10)", b"(30, 10)")


def shift(data):  # one example has more nats, another one as many less
    values = array.array("d", bytes(data[128:]))
    values[3] += 0.5
    values[4] -= 0.5
    return data[:128] + values.tobytes()


def lift(data):  # one example has more
    values = array.array("d", bytes(data[128:]))
    values[3] += 0.5
    return data[:128] + values.tobytes()


def drop_confusion():
    global text
    text = re.sub(r"  confusion: .*\n", "", text)


if what == "score":
    text = re.sub(r'(key: "correct"\s+value: )(\d+)', lambda m: m[1] + str(int(m[2]) + 1), text, count=1)
elif what == "settings":
    text = re.sub(r"(train \{\s+steps: )20\b", r"\g<1>30", text, count=1)
elif what == "confusion":  # one example of the first label that has any is counted elsewhere
    counts = [int(m) for m in re.findall(r"^  confusion: (\d+)$", text, re.M)][:100]
    at = next(i for i, count in enumerate(counts) if count > 0)
    to = at + 1 if at % 10 < 9 else at - 1
    cells = iter(range(len(counts) * 9))
    text = re.sub(r"(?m)^(  confusion: )(\d+)$",
                  lambda m: m[1] + str(int(m[2]) + {at: -1, to: 1}.get(next(cells), 0)), text)
elif what == "file":
    text = text.replace('predictions_file: "predictions.npy"', 'predictions_file: "../../../etc/passwd"')
elif what == "classes":
    drop_confusion()
    text = re.sub(r"(?m)^(  classes: )10$", r"\g<1>11", text)
elif what in ("examples", "part"):
    drop_confusion()
    forge("predictions.npy", cut)
    text = re.sub(r"(?m)^(  examples: )60$", r"\g<1>30", text)
    if what == "part":
        text = re.sub(r"(?m)^  examples: 30$", "\\g<0>\n  split_examples: 60", text)
elif what == "scores":
    forge("accuracy.npy", flip)
elif what in ("shift", "lift"):
    forge("nats.npy", {"shift": shift, "lift": lift}[what])
elif what == "scale":
    forge("predictions.npy", scale)
else:
    forge("predictions.npy", turn)
open(path, "w").write(text + "# sha256: " + hashlib.sha256(text.encode()).hexdigest() + "\n")
PY
}
reseal score
found record.textproto 'results of test .selected.*counts.correct.: is .*, predictions.npy and the labels give '
reseal prediction
expect 1 '^  one/run/predictions.npy: example 3: holds .*, the checkpoint gives' "${verify[@]}" one --verify-examples 0
reseal settings
expect 1 "^  one/run/checkpoint/$step/state.textproto: config.train.steps is 20, the record says 30" "${verify[@]}" one

run=../tokens/linear reseal score
found record.textproto 'results of test .selected.*counts.correct.: is .*, the checkpoint gives '
run=../tokens/linear reseal shift
expect 1 '^  one/run/nats.npy: example 3: holds .*, the checkpoint gives' "${verify[@]}" one
expect 1 '^  one/run/nats.npy: example 4: holds .*, the checkpoint gives' "${verify[@]}" one
run=../tokens/linear reseal lift
found nats.npy 'the mean of its values is .*, the record.s sums give'
reseal scores
found accuracy.npy 'is not what the predictions and the labels give; examples 16 to 23: byte 130 is'
reseal confusion
expect 1 '^  one/run/record.textproto: results of .*[.]confusion.*label [0-9], guess [0-9].: is [0-9]+, predictions.*npy and the labels give' "${verify[@]}" one
reseal scale
expect 1 '^  one/run/predictions.npy: example [0-9]+: holds .*, the checkpoint gives' "${verify[@]}" one
expect 1 '^  one/run/predictions.npy: 50 more examples differ like these' "${verify[@]}" one --verify-examples 0
# Nothing that a record says ends the look at the other runs.
reseal examples
cp -r whole/half one/whole
expect 1 '^  one/run/record.textproto: results of test .selected.*examples: is 30, the run scores 60 of the split.s 60' "${verify[@]}" one
expect 1 '^2 runs: 1 verified, 1 changed' "${verify[@]}" one
reseal part
expect 1 '^  one/run/record.textproto: results of test .selected.*examples: is 30, the run scores 60 of the split.s 60' "${verify[@]}" one
reseal classes
printf x | dd of=one/run/predictions.npy bs=1 seek=200 conv=notrunc status=none
cp -r whole/half one/whole
expect 1 "^  one/run/checkpoint/$step/state.textproto: spec.classes is 10, the record says 11" "${verify[@]}" one
expect 1 '^2 runs: 1 verified, 1 changed' "${verify[@]}" one
reseal file
expect 1 '^  one/run/record.textproto: results.*predictions_file: is "[.][.]/[.][.]/[.][.]/etc/passwd", must be the name of a file' "${verify[@]}" one

# What is not there is said, and is no change.
rm -rf one && mkdir one && cp -r whole/linear one/run && rm "one/run/checkpoint/$step/state.textproto"
expect 0 "verified one/run: .*not there: checkpoint/$step/state.textproto" "${verify[@]}" one
# A run that goes on removes its earlier checkpoints.
rm one/run/record.* && rm -r "one/run/checkpoint/$step" && cp -r "whole/linear/checkpoint/$step" one/run/checkpoint
ln -s gone one/run/checkpoint/step-1
expect 0 'not verified one/run: [0-9]+ files as recorded; not made anew: it has no record' "${verify[@]}" one
rm -rf one && mkdir one && cp -r whole/linear one/run && rm -r one/run/checkpoint
expect 0 'not verified one/run: .*not made anew: checkpoint/step-[0-9]+ is not there' "${verify[@]}" one
expect 0 '^1 run: 0 verified, 0 changed, 1 not verified' "${verify[@]}" one
rm -rf one && mkdir one && cp -r tokens/linear one/run && rm one/run/nats.npy
expect 0 'verified one/run: .*not there: nats.npy; not made anew: nats.npy is not there' "${verify[@]}" one
rm -r one/run/checkpoint
expect 0 'not verified one/run: .*not made anew: checkpoint/step-[0-9]+ is not there' "${verify[@]}" one
rm -rf one && mkdir one && cp -r whole/linear one/run && rm -r one/run/checkpoint
rm one/run/predictions.npy
expect 0 'not there: predictions.npy' "${verify[@]}" one
rm one/run/record.textproto
expect 0 'not verified one/run: .*it has no record' "${verify[@]}" one
mv data gone
expect 0 'not verified whole/linear: .*not made anew: .*data/listops' "${verify[@]}" whole
mv gone data
[ "$(grep -c 'command' whole/linear/test_looks.textproto)" = "$looks" ] || { echo "FAILED: --verify is a look at the test split"; failures=$((failures + 1)); }

[ "$failures" = 0 ] && echo "lra table --verify: as expected" || exit 1
