#!/usr/bin/env bash
# `lra quickstart` on smaller data and fewer steps, by configurations of its own: from nothing to the table, again, and what it
# refuses.
# usage: quickstart_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LRA_DATA
source "$here/expect.sh"

cp -r "$here/../configs" configs
sed -i -E 's/(min_length_tokens:).*/\1 20/; s/(max_length_tokens:).*/\1 120/; s/(train_examples:).*/\1 300/;
  s/((validation|test)_examples:).*/\1 60/; /^canonical_/d' configs/tasks/listops.textproto
sed -i -E 's/steps: 150/steps: 4/; s/(eval_every_steps:).*/\1 2/; s/(validation_examples:).*/\1 60/' configs/runs/quickstart.textproto
export LRA_CONFIGS=$work/configs

# Its standard output is the table and nothing else; standard error has the commands that a user would type.
"$lra" quickstart >table.md 2>log || { cat log; exit 1; }
for row in majority root_operator transformer linear cosformer; do expect 0 "^[|] $row +[|]" cat table.md; done
"$lra" table runs/quickstart --published cosformer2022 | diff - table.md || failures=$((failures + 1))
expect 0 '^== lra train --config .*/runs/quickstart.textproto --attention linear --out runs/quickstart/linear --resume$' cat log
expect 0 'The numbers do not rank' cat log
# Repeated, it trains nothing again.
before=$(sha256sum runs/quickstart/{transformer,linear,cosformer}/record.textproto)
expect 0 'cosformer' "$lra" quickstart
[ "$before" = "$(sha256sum runs/quickstart/{transformer,linear,cosformer}/record.textproto)" ] || { echo "FAILED: a run was trained again"; failures=$((failures + 1)); }
"$lra" quickstart --quiet 2>/dev/null | diff - table.md || failures=$((failures + 1))
"$lra" quickstart --json 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)' || failures=$((failures + 1))

# Other data in its place stays, and the first command that does not end in 0 is named.
export LRA_DATA=$work/other
"$lra" data prepare listops --quiet --seed 5 >/dev/null
expect 2 'stopped at `lra data prepare listops`' "$lra" quickstart --out elsewhere
[ ! -e elsewhere ] || { echo "FAILED: it went on"; failures=$((failures + 1)); }

[ "$failures" = 0 ] || exit 1
