#!/usr/bin/env bash
# Completes command lines as a shell would, looks for every subcommand and flag in the manual page, and holds what flags say of their values
# against what every flag must say.
# usage: shell_help_test.sh LRA
set -euo pipefail
lra=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# --- Completion in bash ---

"$lra" completion bash >lra.bash
source ./lra.bash

# Prints what bash offers at the end of a line. Bash cuts words at "=" and ":"; what is cut off is no part of the answer.
offered() {
  COMP_LINE=$1 COMP_POINT=${#1}
  local word=${1##*[[:space:]]}
  COMPREPLY=()
  _lra lra "${word##*[=:]}" '' 2>/dev/null
  printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
}
# offers LINE WORD...: these words are among those that are offered.
offers() {
  local line=$1 words word
  words=$(offered "$line")
  shift
  for word in "$@"; do
    grep -qxF -- "$word" <<<"$words" || fail "\"$line\" does not offer $word but: "$words
  done
}
# offers_only LINE WORDS: these, in this order, and no others.
offers_only() {
  local words
  words=$(offered "$1" | paste -sd' ')
  [ "$words" = "$2" ] || fail "\"$1\" offers \"$words\", not \"$2\""
}

names() { (cd "$LRA_CONFIGS/$1" && find . -name '*.textproto') | sed 's/.*\///; s/\.textproto$//'; }
offers 'lra ' train data list completion man
offers_only 'lra tr' train
offers_only 'lra data p' prepare
offers_only 'lra bench eff' efficiency
offers 'lra train --' --task --attention --protocol --preset --set --resume --json
offers_only 'lra train --res' --resume
offers_only 'lra --ver' --version
for kind in task attention protocol preset; do offers "lra train --$kind " $(names "${kind}s"); done
offers_only 'lra train --task listo' listops
offers_only 'lra train --task=listo' listops
offers_only 'lra train --task listops --attention cosf' cosformer
offers 'lra data prepare ' $(names tasks)
offers 'lra data verify ' $(names tasks)
offers_only 'lra check cosf' cosformer
offers_only 'lra list ' 'tasks attentions blocks presets protocols suites'
offers_only 'lra list blocks mix' mixer
offers 'lra list suites ' $(names suites)
offers 'lra run ' $(names suites)
offers_only 'lra table runs --format ' 'md csv tex json html'
offers 'lra table runs --published ' cosformer2022
offers 'lra table runs --metric ' accuracy
offers 'lra papers ' $(names papers)
offers_only 'lra train --task listops --set train.st' train.steps=
offers_only 'lra train --set train.steps=10 --set schedule.ki' schedule.kind=
offers_only 'lra train --set model.pooling=ME' 'MEAN MEAN_OF_ALL'
offers_only 'lra train --set=model.pooling=CL' CLS
offers_only 'lra train --set attention.options.sca' 'attention.options.scale= attention.options.scale_tokens= attention.options.scaling='
offers_only 'lra config --set view.split=SEED' SEED42
offers_only 'lra score --set end_m' end_mark=
offers_only 'lra data prepare listops --set max_dep' max_depth=
offers_only 'lra train --set attention.na' ''
offers_only 'lra run --executor ' 'local slurm'
offers 'lra run --' --executor --partition --account --sbatch --at-most --time --memory --cell --device --no-last
offers 'lra data prepare --' --executor --parts --dry-run
offers_only 'lra data join --rem' --remove-parts
offers_only 'lra data im' import
offers 'lra data import --' --train --test --validation --all --label --text --no-header --max-length
offers_only 'lra completion ' 'bash zsh fish'
offers_only 'lra bench step --attention relu,cosf' relu,cosformer
offers_only 'lra bench step --attention=relu,linear,cosf' relu,linear,cosformer
offers 'lra table runs --methods linear,' linear,relu linear,cosformer
offers_only 'lra table runs --tasks text,listo' text,listops
# A flag's value is no subcommand.
offers_only 'lra train --out data pr' ''
# Numbers and paths are left to the shell.
offers_only 'lra train --seeds ' ''
offers_only 'lra diff ' ''

# --- Other shells ---

"$lra" completion zsh >lra.zsh
if command -v zsh >/dev/null; then
  found=$(zsh -fc 'compdef() { :; }; source ./lra.zsh; _lra_complete lra train --task listops --set model.pooling=ME; print -- $_lra_found')
  [ "$found" = 'model.pooling=MEAN model.pooling=MEAN_OF_ALL' ] || fail "zsh offers \"$found\""
fi
"$lra" completion fish >lra.fish
if command -v fish >/dev/null; then
  in_fish() { HOME=$work fish -Nc "source ./lra.fish; complete -C '$1'" | cut -f1 | paste -sd' '; }
  for line in 'lra data p:prepare' 'lra train --attention cosf:cosformer' 'lra train --set model.pooling=ME:model.pooling=MEAN model.pooling=MEAN_OF_ALL'; do
    found=$(in_fish "${line%%:*}")
    [ "$found" = "${line#*:}" ] || fail "fish offers \"$found\" for \"${line%%:*}\""
  done
fi
code=0
"$lra" completion csh 2>error || code=$?
[ $code = 2 ] && grep -q 'unknown shell "csh".*bash, fish, zsh' error || fail "completion csh: exit $code, $(cat error)"

# --- The manual page ---

"$lra" man >lra.1
sed 's/\\-/-/g; s/\\f[BIR]//g; s/\\&//g' lra.1 >plain
# The part of the page about one command.
section() { awk -v name=".SS \"$*\"" '$0 == name { on = 1; next } /^\.S[SH] / { on = 0 } on' plain; }
# Walks the help of a command and of those below it; words of the command are the arguments.
commands=0
walk() {
  local flag below
  "$lra" "$@" --help >help
  section lra "$@" >entry
  [ -s entry ] || fail "no section \"lra $*\" in the manual page"
  for flag in $(grep -oE '^  (-h,)?--[a-z-]+' help | grep -v -- --help); do
    grep -qE -- "^$flag( |$)" entry || fail "lra $*: $flag is not in the manual page"
  done
  commands=$((commands + 1))
  for below in $(sed -n '/^Subcommands:/,/^Examples/s/^  \([a-z]*\) .*/\1/p' help); do walk "$@" "$below"; done
}
"$lra" --help >help
for command in $(sed -n '/^Subcommands:/,/^Examples/s/^  \([a-z]*\) .*/\1/p' help); do walk "$command"; done
[ "$commands" -ge 30 ] || fail "only $commands commands were found in the help"
grep -q '^--version' plain || fail '--version is not in the manual page'
if command -v mandoc >/dev/null; then
  # The page has no date: the same program prints the same page.
  mandoc -Tlint -Wwarning lra.1 | grep -v 'missing date' >lint && fail "mandoc: $(head -5 lint)"
fi

# --- What flags say of their values ---

"$lra" man --json >lra.json
python3 - <<'EOF' || failures=$((failures + 1))
import json, re, sys

def flags(command):
    for flag in command["flags"]:
        yield command["command"], flag
    for below in command["commands"]:
        yield from flags(below)

WRITTEN = {"--out", "--figure", "--figures", "--records"}
faults = []
for command, flag in flags(json.load(open("lra.json"))):
    value, text = flag["value"], flag["text"]
    is_open = re.match(r"(INT|UINT|FLOAT|SIZE)\b", value) and not flag["is_required"] and not flag["default"]
    if is_open and not re.search(r"\bdefault\b|\binstead\b|without it|which needs it", text):
        faults.append(f"{command} {flag['name']}: does not say what holds without it")
    if flag["name"] in WRITTEN and value == "TEXT":
        faults.append(f"{command} {flag['name']}: is it a FILE, a FOLDER or a PREFIX?")
    if re.search(r"\de[+-]\d|kb\(", value):
        faults.append(f"{command} {flag['name']}: {value} is no value for people")
    if text.startswith("Of ") or "repeatable" in text:
        faults.append(f"{command} {flag['name']}: \"{text}\" begins in the middle, or says \"repeatable\" for \"may be repeated\"")
for fault in faults:
    print("FAILED:", fault)
sys.exit(bool(faults))
EOF
[ $failures = 0 ] && echo "ok: $commands commands"
exit $((failures > 0))
