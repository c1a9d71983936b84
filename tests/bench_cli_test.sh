#!/usr/bin/env bash
# Runs `lra bench` as a user types it, at sizes that take no time: what it prints, records, tables, resuming, wrong uses.
# Nothing here looks at a time.
# usage: bench_cli_test.sh LRA
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
tiny=(--tokens 32 --batch 2 --steps 1 --repetitions 1 --threads 1)

# A step: rows, pieces, machine; JSON on standard output and in a file.
expect 0 'output, MLP .*(FLOP|GB)/s' "$lra" bench step --attention linear "${tiny[@]}" --padded --out step.json
expect 0 '"gemm_operations_per_second"' cat step.json
expect 0 'linear, baseline, other build' "$lra" bench step --attention linear "${tiny[@]}" --beside "$lra" --kernels baseline --quiet --no-profile
expect 0 '"page_faults"|"allocations"' "$lra" bench step --attention cosformer "${tiny[@]}" --dtype bfloat16 --forward --quiet --json
expect 0 '3 layers of width 64' "$lra" bench step --attention linear "${tiny[@]}" --layers 3 --quiet --no-profile
expect 0 'dilated_convolution .*\|' "$lra" bench step --attention linear --block dilated_convolution:convolutions=2 "${tiny[@]}" --quiet
expect 0 'linear, as a graph' "$lra" bench step --attention linear "${tiny[@]}" --device fake --graphs --quiet
expect 2 'no step was measured: .*only CUDA computes in, and the device is the CPU' "$lra" bench step --attention linear "${tiny[@]}" --dtype tf32 --quiet
expect 2 'no step was measured: .*cuda:99: .*use --device cpu' "$lra" bench step --attention linear "${tiny[@]}" --device cuda:99 --quiet
expect 2 'unknown attention "lineer"; did you mean "linear"' "$lra" bench step --attention lineer
expect 2 'unknown size "tiny".*small, released, official' "$lra" bench step --size tiny
expect 2 'unknown --dtype "float16"' "$lra" bench step --dtype float16
expect 2 'the CPU has none; say --device cuda' "$lra" bench step --attention linear --graphs
expect 2 'only training steps are repeated' "$lra" bench step --attention linear --graphs --device fake --forward
expect 2 'a Python that has torch' "$lra" bench step --against /no/such/python
expect 2 'beside /no/such/lra: cannot start' "$lra" bench step --attention linear --beside /no/such/lra
expect 2 'compile: .*--against' "$lra" bench step --attention linear --compile
expect 2 'avx9.*generic' "$lra" bench step --kernels avx9 --attention linear
expect 2 'did you mean --tokens' "$lra" bench step --token 5

# Attentions.
expect 0 'features, cumulative sums' "$lra" bench attention --only identity:causal --max-tokens 1024 --speed-tokens 4096 --repetitions 1 --threads 1 --cell-seconds 5 --out a.json
expect 0 '"growth"' cat a.json
expect 2 'max-tokens: is 512, must be 1024 to' "$lra" bench attention --only identity --max-tokens 512 --skip-speed
expect 2 'speed-tokens: is 256, must be 4096 to' "$lra" bench attention --only identity --speed-tokens 256 --skip-growth
expect 2 'nothing would be measured' "$lra" bench attention --only identity --skip-growth --skip-speed

# Records, resumed and made into tables and figures.
grid=(--attention transformer,linear --threads 1 --passes 1 --records cells.jsonl)
expect 0 'exponent' "$lra" bench efficiency "${grid[@]}" --tokens 16,32
[ "$(wc -l <cells.jsonl)" = 4 ] || { echo "FAILED: $(wc -l <cells.jsonl) lines in cells.jsonl, not 4"; failures=$((failures + 1)); }
expect 0 '6/6' "$lra" bench efficiency "${grid[@]}" --tokens 16..64
[ "$(wc -l <cells.jsonl)" = 6 ] || { echo "FAILED: $(wc -l <cells.jsonl) lines in cells.jsonl, not 6"; failures=$((failures + 1)); }
expect 0 'out of memory' "$lra" bench efficiency --attention transformer --tokens 64,128 --threads 1 --passes 1 \
  --memory-budget 60kB --records small.jsonl --quiet
expect 0 '"table"|table,attention' "$lra" bench efficiency --table cells.jsonl small.jsonl --format csv
if command -v gnuplot >/dev/null; then
  expect 0 'wrote figure-1.svg, .pdf and .png' "$lra" bench efficiency --table cells.jsonl --figure figure
  expect_picture figure-1
fi
expect 1 'no figure: .*; install gnuplot .*run: gnuplot bare-1.gp' env PATH=/no/such "$lra" bench efficiency --table cells.jsonl --figure bare
[ -s bare-1.gp ] || { echo "FAILED: without gnuplot there is no program, either"; failures=$((failures + 1)); }
# Grids by name; flags go before.
expect 0 'rounds=8, training_rounds=8' "$lra" bench efficiency --grid linear_transformers_figure1 --tokens 64,128 --batch-tokens 128 --threads 1 --passes 1 --warm-ups 1 --records grid.jsonl --quiet
[ "$(wc -l <grid.jsonl)" = 10 ] || { echo "FAILED: $(wc -l <grid.jsonl) lines in grid.jsonl, not 5 methods by 2 lengths"; failures=$((failures + 1)); }
expect 2 'unknown grid "table5".*cosformer_table5' "$lra" bench efficiency --grid table5
expect 2 'unknown --mode "train"; did you mean "training"[?] Known: forward, training, streaming' "$lra" bench efficiency --mode train
expect 2 'batch-tokens: is 100, must be a multiple of every length, and N = 64 is one' "$lra" bench efficiency --tokens 64 --batch-tokens 100
# A reference is a row, also of a method that this build does not have.
expect 2 'reference: unknown row "transfomer"; did you mean "transformer"' "$lra" bench efficiency --table cells.jsonl --reference transfomer
for unnamed in softmax cosformer; do
  expect 2 "reference: unknown row \"$unnamed\".* Known: linear, transformer" "$lra" bench efficiency --table cells.jsonl --reference "$unnamed"
done
expect 2 'reference: unknown row "softmax".* Known: linear' "$lra" bench efficiency --attention linear --tokens 16 --records never.jsonl --reference softmax
sed 's/"attention":"linear"/"attention":"mine"/' cells.jsonl >mine.jsonl
expect 0 '\| mine ' "$lra" bench efficiency --table mine.jsonl --reference mine
expect 2 '"many" is no length' "$lra" bench efficiency --tokens many
expect 2 'none.jsonl' "$lra" bench efficiency --table none.jsonl
expect 2 'published speeds "none"' "$lra" bench efficiency --table cells.jsonl --published none

# A stream.
expect 0 'does not stream' "$lra" bench generate --attention linear,linformer --tokens 16 --timed-tokens 2 --threads 1 --scope operator

# Data: preparing, reading, waiting.
small=(min_length_tokens=20 max_length_tokens=120 train_examples=300 validation_examples=60 test_examples=60)
expect 0 'listops .*420' "$lra" bench data --prepare listops --prepare-set "${small[@]}" --repetitions 1 --threads 1
"$lra" data prepare listops --quiet $(printf -- '--set %s ' "${small[@]}") >/dev/null
expect 0 '% of a step waiting' "$lra" bench data --task listops --preset smoke --attention linear --batches 3 --steps 2 --threads 1
expect 2 'prepare' "$lra" bench data --task listops --attention linear --raw a.tar
# Stopped in the middle, as a batch system stops a job and all its processes: nothing is left.
mkdir tmp
TMPDIR=$work/tmp setsid "$lra" bench data --prepare listops --threads 1 --repetitions 1000 >stopped 2>&1 &
pid=$!
await "$pid" compgen -G 'tmp/*' >/dev/null || { echo "FAILED: it prepares nothing: $(cat stopped)"; failures=$((failures + 1)); }
kill -- "-$pid"
code=0
wait "$pid" || code=$?
[ "$code" = 1 ] && grep -q 'stopped' stopped || { echo "FAILED: stopped with $code: $(cat stopped)"; failures=$((failures + 1)); }
[ -z "$(ls -A tmp)" ] || { echo "FAILED: it leaves $(ls -A tmp)"; failures=$((failures + 1)); }

[ "$failures" = 0 ] && echo "lra bench: as expected" || exit 1
