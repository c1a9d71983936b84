#!/usr/bin/env bash
# The commands of docs/data_only_task.md, and what is refused: a task of data that a Python program wrote is verified,
# adopted, trained, evaluated and tabulated, without code of its own.
# usage: data_only_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LRA_DATA
source "$here/expect.sh"
python=
for candidate in "${LRA_PYTHON:-python3}" /usr/bin/python3; do
  "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { echo "no Python with numpy (LRA_PYTHON may name one)"; exit 77; }
mkdir data

expect 2 'unknown task "votes"' "$lra" train --task votes --attention linear
"$python" "$here/../examples/votes/write_votes.py" data/votes
expect 0 'valid' "$lra" data verify votes
expect 0 '^votes .*without rules, which this adds: lra data adopt votes' "$lra" data list
expect 2 'has no rules; .*lra data adopt votes' "$lra" train --task votes --attention linear
for command in baseline check 'list tasks'; do expect 2 'has no rules; .*lra data adopt votes' "$lra" $command votes; done
expect 0 'wrote data/votes/task.textproto' "$lra" data adopt votes
expect 2 'task.textproto: exists already; delete it to have it written anew' "$lra" data adopt votes
cp data/votes/task.textproto whole && sed 's/^version: 1/versoin: 1/' whole >data/votes/task.textproto
for command in check 'list tasks' 'train --attention linear --task'; do
  expect 2 'task.textproto:.*no field named "versoin". Did you mean "version"' "$lra" $command votes
done
expect 0 '^votes .*error: .*no field named "versoin"' "$lra" data list
cp whole data/votes/task.textproto
# The page shows the rules as they are.
sed -n '/^name: "votes"/,/^```/p' "$here/../docs/data_only_task.md" | grep -v '```' >shown
sed -n '/^name: /,/^}/p' data/votes/task.textproto >rules
diff shown rules || { echo 'FAILED: docs/data_only_task.md does not show the rules'; failures=$((failures + 1)); }

# Arrays become a task with one command.
"$python" "$here/../examples/votes/save_votes.py"
expect 0 'sequences: at most 64 ids of 1 to 3$' "$lra" data import elections --train train.npz --test test.npz --quiet
grep -q 'wrote data/elections/task.textproto: its rules' out || { echo 'FAILED: the rules of arrays are not named'; cat out; failures=$((failures + 1)); }
expect 0 'elections, imported, valid' "$lra" data verify elections --quiet
expect 0 'elections linear seed 0: .*test' "$lra" train --task elections --attention linear --preset smoke --set train.steps=2 \
  --set train.eval_every_steps=2 --quiet --out array_run
expect 2 'belong to texts; the arrays of an .npz file are labels and tokens or images' "$lra" data import other --train train.npz --test test.npz --label y
expect 2 'train.npz, test.csv: some are arrays' "$lra" data import other --train train.npz --test test.csv

# Facts.
expect 0 '^  data/votes: imported, 2,400 examples' "$lra" data list
expect 0 '"task": "votes"' "$lra" data list --json
expect 0 'classes +2$' "$lra" list tasks votes
expect 0 '(A|B|none) (A|B|none)' "$lra" data show votes --n 1
expect 0 'votes' "$lra" list tasks
expect 0 'view.max_length_tokens +64 +protocol fair, task votes' "$lra" config --task votes --attention linear
expect 2 'no code to check; .lra data verify votes' "$lra" check votes
expect 2 'made by the program that wrote it' "$lra" data prepare votes
expect 2 'protocol "lra2020@[0-9]+" has no rules for task "votes"' "$lra" config --task votes --attention linear --protocol lra2020

# From baseline to table. A model that counts votes is above the majority class.
expect 0 'majority' "$lra" baseline votes --quiet
expect 0 'votes linear seed 0: .*test' "$lra" train --task votes --attention linear --preset small --set train.steps=150 --quiet --out runs/linear
right=$(sed -n '/"split": "test"/,/"correct"/s/.*"correct": "\([0-9]*\)".*/\1/p' runs/linear/record.json)
[ "$right" -gt 160 ] || { echo "FAILED: $right of 200 right"; failures=$((failures + 1)); }
expect 0 'validation step 150' "$lra" eval runs/linear
expect 0 '\| linear +\| (100|[89][0-9])\.' "$lra" table runs
expect 0 '"healthy"' "$lra" doctor runs/linear --json
expect 0 '200 examples of stored test' "$lra" data export votes --out arrays
expect 0 'page.html' "$lra" report runs --out page.html
# The view is the task's own: another one makes another column.
sed 's/max_length_tokens: 64/max_length_tokens: 20/' data/votes/task.textproto >edited && cp edited data/votes/task.textproto
expect 0 'votes linear seed 0: .*test' "$lra" train --task votes --attention linear --preset small --set train.steps=150 --quiet --out runs/cut
expect 0 'A table of its own' "$lra" table runs
expect 1 'config.view.max_length_tokens: 64 -> 20' "$lra" diff runs/linear runs/cut
# Lists and suites take it, under a copy of its rules.
expect 0 'votes' "$lra" train --task votes --attention linear,relu --preset smoke --seeds 0 --set train.steps=2 --quiet --out lists
[ -e lists/rules/*/tasks/votes.textproto ] || { echo 'FAILED: the suite has no copy of the rules'; failures=$((failures + 1)); }
# Rules of another version, data of another task.
sed 's/^version: 1/version: 2/' data/votes/task.textproto >edited && cp edited data/votes/task.textproto
expect 2 'spec.version of task "votes" is 1, .*has rules for 2' "$lra" train --task votes --attention linear --preset smoke --out runs/versions
# Test inputs that are in train, too, and labels counted from 1 are said when data gets its rules.
sed -e 's/CLASSES, LONGEST = 2, 64/CLASSES, LONGEST = 3, 64/' -e 's/name: "votes"/name: "leaky"/' \
  -e 's/return ids, int(/return ids, 1 + int(/' \
  -e 's/^    for name, count in EXAMPLES.*/&\n        random = np.random.default_rng(0)/' "$here/../examples/votes/write_votes.py" >leaky.py
"$python" leaky.py data/leaky
expect 0 '^  duplicates: 200 examples of test have an input that occurs in train$' "$lra" data adopt leaky
for words in 'duplicates: 200 examples of test have an input that occurs in validation' \
  'note: no split has an example of class 0; classes are 0 to 2: are labels counted from 1.' 'wrote data/leaky/task.textproto'; do
  grep -q "$words" out || { echo "FAILED: adopt does not say $words"; cat out; failures=$((failures + 1)); }
done
rm data/votes/task.textproto && mv data/votes data/ballots
expect 2 'move or link it to data/votes' "$lra" data adopt data/ballots
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
