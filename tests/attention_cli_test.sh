#!/usr/bin/env bash
# Tests what a user asks about attentions: promises, numbers of other code, facts, parameters.
# usage: attention_cli_test.sh LRA
set -euo pipefail
unset CDPATH
lra=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
source "$here/expect.sh"

# Promises.
expect 0 'ok +T1 +the fast form equals the dense oracle' "$lra" check transformer
expect 0 'row_stochastic +yes +as declared in' "$lra" check transformer
expect 0 '"observed": "as declared' "$lra" check linear --set epsilon=1e-5 --json
expect 2 'did you mean "?linear' "$lra" check lineer
expect 2 'did you mean "?epsilon' "$lra" check linear --set epsilno=1
expect 2 'epsilon' "$lra" check linear --set epsilon=-1
expect 2 'tasks, attentions' "$lra" check --all things
expect 2 'give the name' "$lra" check
expect 2 'not about --all' "$lra" check --all attentions --set epsilon=1
expect 2 'dtype: is "float16", must be' "$lra" check --all blocks --dtype float16
# What cannot be made fails, and the others are tried.
cp -r "${LRA_CONFIGS:-$here/../configs}" broken
for file in broken/blocks/*; do echo 'nonsense: 1' >>"$file"; done
for name in attention_mlp mixer; do
  expect 1 "^block $name\$" env LRA_CONFIGS=broken "$lra" check --all blocks
  expect 1 "\"block\": \"$name\"" env LRA_CONFIGS=broken "$lra" check --all blocks --json
done
expect 1 'FAILED  could not be made: .*nonsense' env LRA_CONFIGS=broken "$lra" check --all blocks
expect 2 'nonsense' env LRA_CONFIGS=broken "$lra" check mixer

# Types, devices and kernels: what is not there is refused, never replaced.
expect 0 'ok +F32 ' "$lra" check linear --dtype float32 --kernels generic
expect 0 'ok +B16 ' env LRA_KERNELS=baseline "$lra" check linear --dtype bfloat16
expect 2 'dtype: is "float16", must be' "$lra" check linear --dtype float16
expect 2 'cuda:99: .*use --device cpu' "$lra" check linear --device cuda:99
# Without the libraries that CUDA's needs it is said how to get them; elsewhere that there is no such card.
expect 2 'cannot be loaded \(.*install torch with its dependencies and set LRA_LIBTORCH .*, or use|does not start|no CUDA device|CUDA devices, from 0' \
  "$lra" check linear --device cuda:99
expect 2 'not about task listops' "$lra" check listops --dtype float32
expect 2 'not about task listops' "$lra" check listops --device fake
expect 2 'device: is "fake:1", must be cpu, cuda, cuda:NUMBER or fake' "$lra" check linear --device fake:1
expect 0 'ok +T2 ' "$lra" check linear --device fake --dtype float64
expect 2 'the file says which type' "$lra" check linear --dtype float32 --against nothing.safetensors
expect 2 'kernels: is "sse", must be one of generic, baseline, avx2, avx512, amx' "$lra" check linear --kernels sse
expect 2 'LRA_KERNELS: is "AVX2", must be' env LRA_KERNELS=AVX2 "$lra" check linear

# Numbers of other code.
expect 2 'nothing.safetensors' "$lra" check transformer --against nothing.safetensors
echo 'not tensors' >text.safetensors
expect 2 'header claims' "$lra" check transformer --against text.safetensors
expect 2 'unknown attention "listops"' "$lra" check listops --against text.safetensors
expect 2 'against' "$lra" check transformer --tolerance 1
for python in "${LRA_PYTHON:-python3}" /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null || continue
  "$python" "$here/../examples/checking/softmax.py" softmax.safetensors
  expect 0 'ok +grad_k +\[2, 3, 37, 8\]' "$lra" check transformer --against softmax.safetensors
  expect 0 '"passed": true' "$lra" check transformer --against softmax.safetensors --json
  expect 1 'FAILED +out' "$lra" check linear --against softmax.safetensors
  expect 1 'FAILED' "$lra" check transformer --against softmax.safetensors --tolerance 1e-18
  expect 1 'longest sequence 64' "$lra" check cosformer --against softmax.safetensors --max-length 64
  expect 2 'max_length: is 20, below' "$lra" check cosformer --against softmax.safetensors --max-length 20
  expect 2 '"key_projection": is missing; expected: float64 \[5, 37\]' "$lra" check linformer --set rank=5 \
    --against softmax.safetensors
  head -c -1 softmax.safetensors >cut.safetensors
  expect 2 'lie outside' "$lra" check transformer --against cut.safetensors
  break
done

# Facts.
expect 0 'causal +' "$lra" list attentions transformer
expect 0 'key_projection +\[128, L\] += \[128, 2000\] +trained' "$lra" list attentions linformer
expect 0 'attention.options.rank +0 +\(whole, 0 to 1048576\)' "$lra" list attentions linformer
expect 0 'L = 256 ' "$lra" list attentions performer --preset smoke --task text
expect 0 '"letters": "\[128, D\]"' "$lra" list attentions performer --json
expect 0 'linformer .*above \+10 %' "$lra" list attentions --params --preset small
expect 0 'transformer .* \+0 +\+0.00 %$' "$lra" list attentions --params --preset small
expect 0 '"difference_percent"' "$lra" list attentions --params --preset smoke --json
expect 2 'did you mean "?linformer' "$lra" list attentions linfomer --params
expect 2 'not of tasks' "$lra" list tasks --params
# Attention maps of a model that was trained for two steps.
export LRA_DATA=$work/data
smoke=(--task listops --preset smoke --quiet --set train.steps=2 --set train.eval_every_steps=2 --set model.pooling=CLS)
"$lra" data prepare listops --quiet --set min_length_tokens=20 --set max_length_tokens=120 --set train_examples=60 \
  --set validation_examples=20 --set test_examples=20 >/dev/null
for attention in cosformer identity; do expect 0 'seed 0' "$lra" train "${smoke[@]}" --attention $attention; done
# By default a run's folder is named after its settings.
run=$(ls -d runs/listops-cosformer-smoke-*-s0) signed_run=$(ls -d runs/listops-identity-smoke-*-s0)
expect 0 'layer0-head1 .*layer0-head1-mean.npy layer0-head1-mean.png layer0-head1-coverage.npy' "$lra" attend $run \
  --examples 5 --out maps --quiet
expect 0 'all-coverage.png' cat maps/maps.json
expect 0 'PNG' head -c 4 maps/all-mean.png
expect 0 '"name": "layer0-head0"' "$lra" attend $run --examples 2 --layer 0 --head 0 --out one --quiet --json
[ "$(ls one | wc -l)" = 7 ] || { echo "FAILED: one head gives six files (mean, coverage, reweighting) and maps.json, not: $(ls one)"; failures=$((failures + 1)); }
expect 0 'no coverage: its weights are no shares of 1' "$lra" attend "$signed_run" --out signed --quiet
expect 2 'layer: is 9, must be 0 to' "$lra" attend $run --layer 9 --out x
expect 2 'head: is 9, must be 0 to' "$lra" attend $run --head 9 --out x --quiet
expect 2 'max-tokens: is 5, but the shortest example' "$lra" attend $run --max-tokens 5 --out x
expect 2 'threshold: is 1, must be 0 to 0.999' "$lra" attend $run --threshold 1 --out x
expect 2 'example names one and --examples counts several' "$lra" attend $run --example 3 --examples 5 --out x
# What is refused is no look at the test split.
looks=$(grep -c test_looks "$run/record.textproto")
expect 2 'head: is 9, must be 0 to' "$lra" attend $run --split test --head 9 --out x --quiet
expect 2 'cannot make folder "/dev/null/x"' "$lra" attend $run --split test --out /dev/null/x --quiet
expect 2 'cannot write "/dev/null/x.csv"' "$lra" locality $run --split test --out /dev/null/x.csv --quiet
[ "$(grep -c test_looks "$run/record.textproto")" = "$looks" ] || { echo "FAILED: a refused look at test was logged"; failures=$((failures + 1)); }
expect 2 'out is required' "$lra" attend $run
expect 2 'no such' "$lra" attend runs/nothing --out x
# How local they are.
expect 0 "$run +.* cosformer +.* all +.*[0-9]" "$lra" locality $run --quiet
expect 0 'equal weights +.* all +.* 1 .$' "$lra" locality $run "$signed_run" --quiet
expect 0 'layer 0 head 1' "$lra" locality $run --heads --examples 2 --quiet
expect 0 "absolute values: $signed_run" "$lra" locality $run "$signed_run" --quiet
expect 0 'tokens,mean distance,within 0,within 3,effective rank' "$lra" locality $run --within 0 3 --format csv --quiet
expect 0 '"mean_distance_tokens": [0-9]' "$lra" locality $run --json --quiet
expect 2 'within: has 1; distances must' "$lra" locality $run --within 3 1
expect 2 '"far" is no number of tokens' "$lra" locality $run --within far
expect 2 'locality is written as md, csv or json only' "$lra" locality $run --out x.html
expect 2 'max-tokens: is 5, but the shortest example' "$lra" locality $run --max-tokens 5 --quiet
expect 2 'no such' "$lra" locality runs/nothing
[ ! -e x ] || { echo "FAILED: a refused command left a folder"; failures=$((failures + 1)); }
for python in "${LRA_PYTHON:-python3}" /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null || continue
  # Each row of cosFormer's weights sums to 1; every query reaches some key.
  expect 0 '^ok$' "$python" -c "
import numpy as np
m, c = np.load('one/layer0-head0-mean.npy'), np.load('one/layer0-head0-coverage.npy')
assert m.shape == c.shape and m.dtype == np.float32, (m.shape, m.dtype)
n = m.shape[0]
assert abs(m[0].sum() - 1) < .5 and c.max() <= 1 and (c.max(1) > 0).all()
print('ok')"
  break
done
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
