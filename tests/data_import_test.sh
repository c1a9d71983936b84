#!/usr/bin/env bash
# Texts of one's own become a task (docs/data_only_task.md): the same from a table, from lines of JSON and from a folder; it is trained on,
# and what is wrong with a file is said by file, line and column.
# usage: data_import_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LRA_DATA
source "$here/expect.sh"
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }

# The same texts in three forms, class by class, as a folder has them. One test text stands in train, too.
for split in train test; do
  echo 'id,review,stars' >$split.csv
  for stars in bad good; do
    mkdir -p $split/$stars
    for id in $(seq 10 29); do
      text="a $stars film, \"number\" $id of $split"
      [ $split$stars$id != testgood12 ] || text='a good film, "number" 12 of train'
      printf '%s\nreally' "$text" >$split/$stars/$id.txt
      printf '%s,"%s\nreally",%s\n' $id "${text//\"/\"\"}" $stars >>$split.csv
      printf '{"stars": "%s", "review": "%s\\nreally"}\n' $stars "${text//\"/\\\"}" >>$split.jsonl
    done
  done
done
columns=(--label stars --text review)
import() { # FORM ARGUMENT...: into the folder of this form.
  local form=$1
  shift
  expect 0 'wrote [a-z]+/films/task.textproto: its rules, to be edited' env LRA_DATA="$form" "$lra" data import films "$@" --quiet
}
import csv --train train.csv --test test.csv "${columns[@]}"
for words in '^csv/films: films, imported$' '^  train +40 examples' 'class 0 is "bad": 40 examples' 'class 1 is "good": 40 examples' \
  'duplicates: 1 examples of test have an input that occurs in train' 'validation: 4 examples of train, a tenth of each class'; do
  grep -qE "$words" out || { fail "the import does not print: $words"; cat out; }
done
import jsonl --train train.jsonl --test test.jsonl "${columns[@]}"
import folder --train train --test test
# All but the checksums of the files that were read, and the seal.
rest() { sed -e '/^sources {/,/^}/d' -e '/^# sha256/d' "$1/films/manifest.textproto"; }
for form in jsonl folder; do
  diff -r -x manifest.textproto csv $form || fail "the data of $form is not that of csv"
  diff <(rest csv) <(rest $form) || fail "the manifest of $form is not that of csv"
done

# An ordinary task.
export LRA_DATA=csv
expect 0 'films, imported, valid, canonical: nothing is pinned' "$lra" data verify films --quiet
expect 0 'test\[39\]  label 1 "good"' "$lra" data show films --split test --n 40
expect 0 '"class_name": "bad"' "$lra" data show films --n 1 --json
expect 0 '^films +present +Imported texts: 2 classes' "$lra" data list
expect 0 'classes +2$' "$lra" list tasks films
expect 0 'bag_of_units' "$lra" baseline films --quiet
expect 2 'no code to check; .lra data verify films' "$lra" check films
expect 0 'films linear seed 0: .*test' "$lra" train --task films --attention linear --preset smoke --set train.steps=2 \
  --set train.eval_every_steps=2 --quiet --out run

# One pool, numbered columns, a length.
{ echo 'one text,1'; for id in $(seq 40); do echo "text $id of many,$((id % 3 * 5))"; done; } >pool.csv
expect 0 '^  validation and test: 4 examples each, drawn at random from all \(view.split: SEED42\)$' "$lra" data import pool --all pool.csv --no-header --text 1 --label 2 --max-length 8 --quiet
grep -q 'models read the first 8, 40 are longer' out || { fail 'the cut is not said'; cat out; }
grep -q 'class 3 is "10": 13 examples' out || { fail 'numbers are not in their order'; cat out; }
grep -q 'max_length_tokens: 8' csv/pool/task.textproto || fail 'the rules do not cut'
expect 0 'move or link it to csv/later, where' "$lra" data import later --all pool.csv --no-header --text 1 --label 2 --out there --quiet

# What is refused, and leaves nothing.
refused=(data import other --quiet)
printf 'text,label\nfine,1\n"open,2\n' >open.csv
printf 'text,label\nfine,1\n,2\n' >empty.csv
printf '{"text": "fine", "label": "a"}\n{"text": "cut off' >cut.jsonl
mkdir deep && mkdir deep/class && mkdir deep/class/below && echo x >deep/class/below/x.txt
expect 1 'open.csv: line 3, column 1: the quote is never closed' "$lra" "${refused[@]}" --all open.csv
expect 1 'empty.csv: line 3: the text in column 1 is empty; give the example one, or leave the example out' "$lra" "${refused[@]}" --all empty.csv
expect 1 'cut.jsonl: line 2, column [0-9]+: the line is no JSON: ' "$lra" "${refused[@]}" --all cut.jsonl
expect 1 'deep/class/below/x.txt: is no text of a class; a folder has one sub-folder for each class' "$lra" "${refused[@]}" --all deep
mkdir -p pictures/cat pictures/dog
printf '\x89PNG\r\n\x1a\n' | tee pictures/cat/1.png >pictures/dog/1.png
printf '\xff\xfet\0e\0' >wide.csv
printf 'text;label\nx;1\n' >semicolons.csv
expect 1 'pictures/cat/1.png: is a PNG picture and no text; .*lra data adopt' "$lra" "${refused[@]}" --all pictures
expect 1 'wide.csv: is UTF-16 and no text' "$lra" "${refused[@]}" --all wide.csv
expect 2 'one column with ";" inside: a .csv has commas' "$lra" "${refused[@]}" --all semicolons.csv
expect 2 'train.csv: line 1: the header has no column "label" but "id", "review", "stars"; --label takes one' "$lra" "${refused[@]}" --train train.csv --test test.csv
expect 2 'train.jsonl: line 1: the object has no field "label" but "review", "stars"' "$lra" "${refused[@]}" --train train.jsonl --test test.jsonl
expect 2 'are both column "id"' "$lra" "${refused[@]}" --all train.csv --label id --text id
expect 2 'give --train and --test' "$lra" "${refused[@]}" --train train.csv
expect 2 'no file or folder "nothing.csv"' "$lra" "${refused[@]}" --train nothing.csv --test test.csv
expect 2 'its name does not say what it is' "$lra" "${refused[@]}" --all run/record.textproto
expect 2 'has code and rules' "$lra" data import text --train train --test test --quiet
expect 2 'digits and _ make a name' "$lra" data import Films --train train --test test --quiet
expect 2 'folder "csv/films" exists and is not empty; it is left alone' "$lra" data import films --train train --test test --quiet
[ "$(cd csv && echo *)" = 'films pool' ] || fail "left in csv: $(ls -a csv)"
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
