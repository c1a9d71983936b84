#!/usr/bin/env bash
# Runs the whole path as a user types it, on small data, and wrong uses: messages and exit codes.
# usage: cli_test.sh LRA
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

small=(--set min_length_tokens=20 --set max_length_tokens=120 --set train_examples=300 --set validation_examples=60 --set test_examples=60)
smoke=(--task listops --preset smoke --quiet --set train.steps=6 --set train.eval_every_steps=3)

# The default run folder of an attention under these settings, without "-sSEED": what differs from the preset is in it.
folder() { echo "runs/listops-$1-smoke-$("$lra" config "${smoke[@]}" --attention "$1" --json | sed -n 's/.*"cell_fingerprint": "\(.\{8\}\).*/\1/p')"; }
run=$(folder linear)-s0
# How many examples of the test split a run's record counts as right.
correct() { sed -n '/"split": "test"/,/"correct"/s/.*"correct": "\([0-9]*\)".*/\1/p' "$1/record.json"; }

# The program's malloc keeps freed memory, and large blocks with the others (cli/malloc_conf.cc); programs with sanitizers have their own.
if [ -z "${LRA_SANITIZE:-}" ]; then
  MALLOC_CONF=stats_print:true expect 0 'opt.muzzy_decay_ms: -1' "$lra" --version
  MALLOC_CONF=stats_print:true expect 0 'opt.oversize_threshold: 0$' "$lra" --version
  MALLOC_CONF=stats_print:true expect 0 'opt.dirty_decay_ms: 10000' "$lra" --version
fi

# The main job.
expect 2 'lra data prepare listops' "$lra" train "${smoke[@]}" --attention linear
expect 0 '' "$lra" data prepare listops --quiet "${small[@]}"
expect 0 '' "$lra" data prepare listops --quiet "${small[@]}"
expect 2 '--force' "$lra" data prepare listops --quiet "${small[@]}" --seed 5
expect 0 'canonical' "$lra" data verify data/listops
expect 0 'MAX|MIN|MED|SM' "$lra" data show data/listops --n 3
expect 0 '"source"' "$lra" data show data/listops --n 1 --json
expect 0 'present|yes|here' "$lra" data list
expect 0 'majority' "$lra" baseline listops
expect 0 'depth_5 ' "$lra" baseline listops
expect 0 '"bar": "depth 5"' "$lra" baseline listops --json
expect 2 'give a task .*or --like RUN' "$lra" baseline
expect 0 'majority' "$lra" baseline listops --set view.max_length_tokens=100 --out bars
# Without what CTest sets it starts itself anew, with threads that wait patiently.
expect 0 'listops linear seed 0: .*test' env -u OMP_WAIT_POLICY "$lra" train "${smoke[@]}" --attention linear
expect 0 '"seed": 2' "$lra" train "${smoke[@]}" --attention transformer --seeds 0-2 --json
# A run file is what its flags are.
expect 0 'wrote mine.textproto' "$lra" init mine.textproto "${smoke[@]}" --attention linear
expect 0 "then: lra train --config 'my run.textproto'" "$lra" init 'my run.textproto' --task listops
expect 2 'mine.textproto: exists already' "$lra" init mine.textproto --task listops
expect 2 'did you mean "listops"' "$lra" init other.textproto --task listop
expect 0 'listops linear seed 0: .*test' "$lra" train --config mine.textproto --quiet --out mine
expect 0 '^note: numerics.precision=BF16: kernels baseline have no products in bfloat16' env LRA_KERNELS=baseline "$lra" train \
  --config mine.textproto --set numerics.precision=BF16 --out rounded
expect 2 "^note: $work/data/listops holds other data than is pinned for listops" "$lra" train --task listops --preset smoke --attention linear --out mine
expect 1 'differ in 5 fields' "$lra" diff "$run" mine
[ "$(grep -c '^provenance' out)" = 5 ] || { echo "FAILED: a run file is not what its flags are: $(cat out)"; failures=$((failures + 1)); }
expect 0 'validation step 6' "$lra" eval "$run"
expect 0 'test step 6' "$lra" eval "$run" --split test
expect 0 'test_looks' cat "$run/record.textproto"
# float16 logits guess what float32 logits guess.
expect 0 'test step 6' "$lra" eval "$run" --split test --half-logits --out halved
expect 0 "'descr': '<f2'" head -c 128 halved/predictions.npy
expect 0 'listops of-half-logits test: ' "$lra" score --data listops --predictions halved/predictions.npy --name of-half-logits --preset smoke
for name in halved runs/external-of-half-logits-listops; do expect 0 "^$(correct "$run")$" correct "$name"; done
rm -r halved runs/external-of-half-logits-listops
# A checkpoint is its weights file; it knows its task.
mkdir lone && cp "$run/checkpoint/step-6/weights.safetensors" lone/
expect 0 'validation step 6.*lone/evaluations' "$lra" eval lone/weights.safetensors
expect 0 'Linear' "$lra" table runs
expect 0 'methods linear \(of 2\); baselines stay' "$lra" table runs --methods linear
expect 2 'unknown method of these rows "liner"; did you mean "linear"' "$lra" table runs --tasks listops --methods liner
expect 2 'has an empty name' "$lra" table runs --tasks listops,,text
expect 2 'leave out --out, --format, --tasks' "$lra" table runs --verify --methods linear
expect 0 'toprule' "$lra" table runs --format tex
expect 0 'published' "$lra" table runs --published cosformer2022
expect 0 'cosformer2022_table2 .* has nothing that these columns show' "$lra" table runs --published cosformer2022_table2
expect 0 'Table 6.*lra run cosformer_table6_small' "$lra" papers cosformer2022
expect 0 '"item": "Table 6"' "$lra" papers cosformer2022 --json
expect 2 'unknown paper "cosformer"; did you mean "cosformer2022"' "$lra" papers cosformer
# A folder that is not there is not an empty one.
expect 2 'records nowhere: no such folder; a checkout has docs/records' "$lra" papers --records nowhere
expect 0 'note: there is no folder docs/records here' "$lra" papers cosformer2022
for command in list 'data list' 'config --task listops --attention linear'; do
  LRA_CONFIGS=/nonexistent expect 2 'LRA_CONFIGS is "/nonexistent", which holds no configurations' "$lra" $command
done
# The file of a plug-in that the program lacks is an error on its own line, and does not hide the others.
cp -r "$here/../configs" configs
echo 'attention { name: "mine" options { [type.googleapis.com/lra.MineOptions] {} } }' >configs/attentions/mine.textproto
LRA_CONFIGS=$work/configs expect 2 '^  mine +error: .*mine.textproto:1:.*lra.MineOptions.*build again' "$lra" list
LRA_CONFIGS=$work/configs expect 2 '^  transformer +' "$lra" list attentions
LRA_CONFIGS=$work/configs expect 2 '^lra: 1 file cannot be read' "$lra" list attentions
LRA_CONFIGS=$work/configs expect 2 '"error": ".*lra.MineOptions' "$lra" list attentions --json
LRA_CONFIGS=$work/configs expect 0 '^  listops ' "$lra" list tasks
LRA_CONFIGS=$work/configs expect 2 'mine.textproto is there, but no source of this program registers the name' "$lra" check mine
rm -r configs
# Records keep the scores of examples, so two rows can be compared; predictions are not needed.
[ -s "$run/accuracy.npy" ] || { echo "FAILED: no accuracy.npy in $run"; failures=$((failures + 1)); }
expect 0 'majority - root_operator, listops: -.* points \[.*1 . 1 runs .these two models: exact McNemar test' "$lra" compare majority root_operator
expect 0 '"method": "McNemar"' "$lra" compare runs/listops-baseline-majority root_operator --json
expect 2 'no run of "lineer" below runs; there are: ' "$lra" compare lineer majority
expect 0 'shown to be equal within 1 point' "$lra" compare majority root_operator
# The three seeds of one row beside those of another; runs of one seed are matched.
expect 2 'weights sum to 2, not to 0' "$lra" compare --contrast 'linear + transformer'
expect 2 'name two rows, A and B, or give --contrast' "$lra" compare linear
expect 2 'leave A, B, --paired and --margin out' "$lra" compare linear transformer --contrast 'linear - transformer'
expect 1 'trained in every row; at least 3 must' "$lra" compare --contrast 'linear - transformer'
expect 0 'majority - root_operator, listops: ' "$lra" compare --runs runs majority root_operator
expect 2 'margin -1 is not above 0' "$lra" compare majority root_operator --margin=-1
expect 0 '5 seeds a row tell 2 points from 0 with 68.0 %' "$lra" power --examples 2000 --seeds 5 --difference 2
expect 2 'examples is missing' "$lra" power --seeds 5
expect 2 'name two rows on record, or none; there are 1' "$lra" power majority --seeds 5
expect 1 'seed' "$lra" diff "$(folder transformer)-s0" "$(folder transformer)-s1"
expect 0 '' "$lra" diff "$run" "$run"
expect 0 'accuracy in %' "$lra" watch "$run"
expect 0 'listops +linear +fair@[0-9]+ +smoke +0 +6 of 6 +finished +.* % .test.$' "$lra" runs
expect 0 '"method": "majority"' "$lra" runs runs --json
expect 2 'nothing: does not exist' "$lra" runs nothing
expect 0 '"state": "finished"' "$lra" watch "$run" --json
expect 2 'no such run folder' "$lra" watch runs/nothing
expect 2 'neither curve.jsonl nor' "$lra" watch data/listops
expect 0 'no cause for concern' "$lra" doctor "$run"
expect 0 '"healthy": true' "$lra" doctor "$run" --data data/listops --json
expect 2 'no such run folder' "$lra" doctor runs/nothing
# What a score is made of, from stored predictions.
expect 0 'By evidence depth: the smallest k' "$lra" profile "$run"
expect 0 'The score is (as|below|above|between) depth' "$lra" profile "$run"
expect 0 '"place": ' "$lra" profile "$run" --split validation --json
# A page reads what --out leaves in the run's folder.
expect 0 'The score is' "$lra" profile "$run" --out "$run/profile.json"
expect 0 '"profile": ?[[]' sh -c '"$0" report "$1" --out page.html --quiet && cat page.html && rm page.html "$1/profile.json"' "$lra" "$run"
expect 2 'no predictions of split train; `lra eval' "$lra" profile "$run" --split train
expect 2 '--perturb: the inputs of task listops are ids' "$lra" profile "$run" --perturb
expect 2 'other-data: stored predictions are about the run.s own examples; add --perturb' "$lra" profile "$run" --other-data
expect 2 'runs/nothing.? does not exist|no such' "$lra" profile runs/nothing
# Many runs side by side, from the scores of examples beside their records.
expect 0 '^. linear, FAIL 0/1 ' "$lra" profile runs --published lra2020
expect 0 '^. transformer, FAIL 0/3 .*(as|between|below|above) ' "$lra" profile runs
if "$lra" profile runs --methods linear | grep 'transformer,'; then echo "FAILED: a method that was not chosen"; failures=$((failures + 1)); fi
expect 2 'unknown method of these rows "liner"; did you mean "linear"' "$lra" profile runs --methods liner
mkdir kept && cp "$run/record.textproto" "$run/accuracy.npy" "$run/accuracy-validation.npy" kept/
expect 0 'By evidence depth' "$lra" profile kept
expect 0 '"max_length_tokens"' "$lra" profile kept --json
expect 0 'warning: --published has no places: no baselines are among these runs' "$lra" profile kept --published lra2020
expect 1 'no row has a checkpoint of each run' "$lra" profile kept --perturb
rm -r kept
expect 0 '"rules": "protocol fair@' "$lra" profile runs --json
expect 0 '^### listops' "$lra" profile runs --out tables.json
expect 0 '"by": {' cat tables.json
# A figure needs two groups with examples enough: those of longer expressions, whose records are kept.
if command -v gnuplot >/dev/null; then
  expect 0 '' "$lra" data prepare listops --quiet --out lengths --set min_length_tokens=2 --set max_length_tokens=16000 \
    --set train_examples=2000 --set validation_examples=500 --set test_examples=4000
  expect 0 'wrote profile-1.svg, .pdf and .png' "$lra" profile "$here/../docs/records/listops_lengths" --data lengths --figure profile
  expect_picture profile-1
  rm -r lengths
fi
# Trained short, tested long: what is bound to its length is refused.
expect 0 'validation-step-6-length-150' "$lra" eval "$run" --max-length 150
expect 0 '"max_length_tokens": 150' cat "$run/evaluations/validation-step-6-length-150/record.json"
# Such a score is none of a run that was trained at that length, and no run of its own.
expect 0 '"trained_max_length_tokens"' cat "$run/evaluations/validation-step-6-length-150/record.json"
cp -r "$run/evaluations/validation-step-6-length-150" look-150
expect 0 'scored after training: trained at view.max_length_tokens=' "$lra" table runs look-150 --split validation
expect 0 '6 of 6 +evaluation ' "$lra" runs look-150
expect 2 'look-150: holds an evaluation .linear., which has no checkpoint' "$lra" eval look-150
rm -r look-150
# Its own length is no other one, and longer inputs that none of the data has change no answer.
expect 0 'evaluations/validation-step-6$' "$lra" eval "$run" --max-length "$(sed -n 's/.*"max_length_tokens": \([0-9]*\).*/\1/p' "$run/record.json" | head -1)"
cp "$run/evaluations/validation-step-6/predictions.npy" own.npy
expect 0 'length-3000' "$lra" eval "$run" --max-length 3000
cmp own.npy "$run/evaluations/validation-step-6-length-3000/predictions.npy" || failures=$((failures + 1))
expect 2 'max_length_tokens: 2147483647 is out of range; valid is 1 to 1048576' "$lra" eval "$run" --max-length 99999999999
expect 0 '' "$lra" train "${smoke[@]}" --attention cosformer --out rescaled
expect 2 'max-length 3000: this is another model at that length: .*cosFormer.s M' "$lra" eval rescaled --max-length 3000
rm -r rescaled
expect 0 '' "$lra" train "${smoke[@]}" --attention linear --out learned --set model.positions=LEARNED
expect 2 'embedding.position.weight' "$lra" eval learned --max-length 3000
rm -r learned
expect 0 '' "$lra" train "${smoke[@]}" --attention linear --out bare --set view.brackets=NONE
# Baselines take the view of a run, and land in its table, not in one of their own.
expect 0 'root_operator .*runs/listops-baseline-root_operator-[0-9a-f]{8}$' "$lra" baseline --like bare --quiet
expect 0 'root_operator' "$lra" table bare runs/listops-baseline-root_operator-*
if grep -q 'A table of its own' out; then echo "FAILED: baselines like a run missed its table"; failures=$((failures + 1)); fi
expect 0 'By length: tokens of an example as the model reads it' "$lra" profile bare
expect 2 'the run is of task "listops", not "text"' "$lra" baseline text --like bare
expect 0 '' "$lra" data prepare listops --quiet "${small[@]}" --seed 5 --out reseeded
expect 2 'reseeded: is not the data of the run: the fingerprint of split' "$lra" baseline --like bare --data reseeded
expect 2 'reseeded: is not the data of the run' "$lra" profile "$run" --data reseeded
expect 1 'dropped brackets' "$lra" doctor bare
expect 0 'preset smoke' "$lra" config "${smoke[@]}" --attention linear
# A field that departs from the protocol is marked, and so is a budget below the protocol's.
expect 0 'train.batch_examples +8 +preset smoke +\(protocol: 32\)' "$lra" config "${smoke[@]}" --attention linear
expect 0 'warning: the budget is 6 steps of 8 examples' "$lra" config "${smoke[@]}" --attention linear
expect 2 'the warm-up of 8000 steps .* outlasts the run of 100 ' "$lra" config --task text --attention linear --protocol nystrom --set train.steps=100
# What training would refuse is refused without data, too.
expect 2 'view.zero_is_padding is set, but says nothing about data of task .image. under this view' \
  "$lra" config --task image --attention linear --set view.zero_is_padding=true
expect 0 'seed +7 +--seeds' "$lra" config "${smoke[@]}" --attention linear --seeds 7 --out x
expect 0 'cosformer' "$lra" list
expect 2 'unknown kind "suits"; did you mean "suites"' "$lra" list suits
expect 0 '' "$lra" list attentions --params --preset smoke

# Runs that differ have folders that differ (docs/reweighting.md), plain runs are called as ever, and --resume finds each.
family=(train "${smoke[@]}" --attention factorized)
expect 0 'runs/listops-factorized-smoke-........-s0$' "$lra" "${family[@]}" --set attention.options.reweighting=NO_REWEIGHTING
expect 0 'runs/listops-factorized-smoke-........-s0$' "$lra" "${family[@]}" --set attention.options.scale=LEARNED
expect 0 'runs/listops-factorized-smoke-........-s0$' "$lra" "${family[@]}" --set attention.options.scale=LEARNED --resume
expect 0 'runs/listops-factorized-smoke-s0$' "$lra" train --task listops --preset smoke --quiet --attention factorized
[ "$(ls -d runs/listops-factorized-* | wc -l)" = 3 ] || { echo "FAILED: three folders, not: $(ls runs)"; failures=$((failures + 1)); }

# Wrong use: nothing starts, exit code 2, the nearest valid name.
expect 2 'resume' "$lra" train "${smoke[@]}" --attention linear
expect 2 'did you mean "?cosformer' "$lra" train "${smoke[@]}" --attention cosfromer --out x
expect 2 'did you mean "?steps' "$lra" train "${smoke[@]}" --attention linear --out x --set train.stesp=3
expect 2 'model.dropout' "$lra" train "${smoke[@]}" --attention linear --out x --set model.dropout=2
expect 2 'train.steps' "$lra" train "${smoke[@]}" --attention linear --out x --set train.steps=many
expect 2 'did you mean --seeds' "$lra" train --seedz 3
expect 2 'did you mean train' "$lra" trian
# Whatever follows the word, and before any of it is read.
expect 2 'unknown subcommand "trian"; did you mean train' "$lra" trian --task listops
expect 2 'unknown subcommand "tabel"; did you mean table' "$lra" tabel runs
expect 2 'unknown subcommand "prepar"; did you mean prepare' "$lra" data prepar listops --out x
expect 2 'See: lra data --help' "$lra" data prepar listops
expect 2 'unknown flag "--lr"; did you mean --set schedule.learning_rate=NUMBER' "$lra" train --task listops --lr 1
expect 2 'unknown flag "--steps"; did you mean --set train.steps=NUMBER' "$lra" train --task listops --steps 5
expect 2 'did you mean "transformer"' "$lra" train --task listops --attention softmax
expect 2 'cuda:99: .*use --device cpu' "$lra" train "${smoke[@]}" --attention linear --out x --device cuda:99
expect 2 'learning_rate|another' "$lra" train "${smoke[@]}" --attention linear --resume --set schedule.learning_rate=0.5 --out "$run"
# Whole weights, or an encoder for another attention; what does not fit leaves nothing behind.
expect 2 'leave one of them out' "$lra" train "${smoke[@]}" --attention relu --out x --from "$run" --init-from "$run"
expect 2 'nothing: no such checkpoint or run folder' "$lra" train "${smoke[@]}" --attention relu --out x --init-from runs/nothing
expect 2 'init-from .*: model.layers is 2, that run has 1; set it as there' "$lra" train "${smoke[@]}" --attention relu --out x --init-from "$run" --set model.layers=2
expect 2 'pretraining starts from initial weights; leave out --init-from' "$lra" train "${smoke[@]}" --attention relu --out x --init-from "$run" \
  --set pretrain.objective=MASKED --set pretrain.masked_fraction=0.2 --set pretrain.examples=8 --set pretrain.learning_rate=1e-3
[ ! -e x ] || { echo "FAILED: a refused run left x behind"; failures=$((failures + 1)); }
expect 0 'encoder of listops, linear, seed 0, .* taken, 4 left .*, 4 new ' sh -c "\"\$0\" train --task listops --preset smoke --set train.steps=6 --set train.eval_every_steps=3 --attention relu --out swapped --init-from '$run' 2>&1" "$lra"
expect 0 '^encoder_weights_sha256 +[0-9a-f]{64} +--init-from ' "$lra" config "${smoke[@]}" --attention relu --init-from "$run"
expect 2 'no such' "$lra" eval runs/nothing
expect 2 'block_tokens: is 5000 .--set., but the longest sequence' "$lra" train "${smoke[@]}" --attention local --out x \
  --set attention.options.block_tokens=5000
expect 2 '' "$lra" data prepare nothing
expect 2 'threads: is 99999, must be 0 to [0-9]+$' "$lra" train "${smoke[@]}" --attention linear --out x --threads 99999
expect 0 '0 = all cores, or with lists 1 a run' "$lra" man --json
expect 2 'threads: is 2147483647, must be 0 to ' "$lra" data verify data/listops --threads 2147483647
# Numbers, in words.
expect 2 'keep-checkpoints: is 0, must be at least 1$' "$lra" train "${smoke[@]}" --attention linear --out x --keep-checkpoints 0
expect 2 'checkpoint-minutes: is soon, must be a number, at least 0$' "$lra" train "${smoke[@]}" --attention linear --out x --checkpoint-minutes soon
expect 0 'checkpoint-minutes FLOAT:NONNEGATIVE=10' "$lra" train --help
expect 2 'micro-batch: is 1.5, must be a whole number, at least 0$' "$lra" train "${smoke[@]}" --attention linear --out x --micro-batch 1.5
expect 2 'seed: is 4294967296, must be at most 4294967295$' "$lra" data prepare listops --out x --seed=4294967296
expect 2 'keep-checkpoints: is 99999999999, must be at most 2147483647$' "$lra" train "${smoke[@]}" --attention linear --out x --keep-checkpoints 99999999999
expect 2 'temperature: is 101, must be 0 to 100$' "$lra" generate x --temperature 101
expect 2 'memory-budget: is -4GB, must be a size such as 800MB or 4GB$' "$lra" train "${smoke[@]}" --attention linear --out x --memory-budget -4GB
expect 2 'memory: is 4XB, must be a size such as' "$lra" run listops_smoke --executor slurm --memory 4XB
expect 2 'train.steps=abc: "abc" is not a whole number from 1 to 100000000' "$lra" config "${smoke[@]}" --attention linear --set train.steps=abc
# An empty value, as of a variable that nobody has set, is not the default.
expect 2 'seeds: is empty; give a value, or leave it out$' "$lra" config "${smoke[@]}" --attention linear --seeds ''
expect 2 'out: is empty' "$lra" table --out= runs
expect 2 'set: is empty' "$lra" config "${smoke[@]}" --attention linear --set ''
expect 2 'threads: is empty' "$lra" data verify data/listops --threads ''
expect 2 'memory-budget: is empty' "$lra" train "${smoke[@]}" --attention linear --out x --memory-budget ''
expect 2 'KIND: is empty' "$lra" list ''
# What would change nothing.
expect 2 'set seed=5 changes nothing: --seeds' "$lra" train "${smoke[@]}" --attention linear --out x --set seed=5 --seeds 0
expect 2 'at-once 3 changes nothing: there is one seed' "$lra" train "${smoke[@]}" --attention linear --out x --at-once 3
expect 0 '"runs": 3' "$lra" train "${smoke[@]}" --attention linear --out x --seeds 0-2 --dry-run --json
expect 0 '3 runs one after the other: .*side by side .--at-once. was not measured' "$lra" train "${smoke[@]}" --attention linear --out x \
  --seeds 0-2 --at-once 3 --dry-run
for command in "table runs" "ablate runs" "locality $run" "bench efficiency --table x"; do
  expect 2 'json and --format csv: leave one of them out' "$lra" $command --json --format csv
done
expect 2 'json and --out x.md: leave --json out' "$lra" table runs --json --out x.md
expect 0 '^done$' sh -c '"$0" table runs --json --out x.json && grep -q "\"tables\"" x.json && rm x.json && echo done' "$lra"
expect 2 'out leaderboard: its name has no ending that says the format: .csv, .html' "$lra" table runs --out leaderboard
expect 2 'seed-sd and --disagreement are assumptions' "$lra" power majority root_operator --difference 1 --seed-sd 2
expect 2 'task and --paired are about two rows on record' "$lra" power --examples 2000 --seeds 5 --task listops
expect 2 'prompt needs no data: leave --split out$' "$lra" generate x --prompt a --split test
expect 2 'given 0 needs no data: leave --data out$' "$lra" generate x --given 0 --data data/listops
expect 2 'given 0 needs no data: leave --other-data out$' "$lra" generate x --given 0 --other-data
expect 2 'temperature 0 takes the likeliest token: leave --top-k out$' "$lra" generate x --temperature 0 --top-k 0
expect 2 'temperature 0 takes the likeliest token: leave --seed out$' "$lra" generate x --temperature 0 --seed 1
# What cannot be written is known before the checkpoint is looked for.
expect 2 'cannot write .*nowhere/x.png' "$lra" generate x --png nowhere/x.png
# A folder where a file belongs, the reverse, and a file of another kind.
expect 2 'cannot read "data": Is a directory' "$lra" train "${smoke[@]}" --attention linear --out x --config data
expect 2 'cannot make folder "mine.textproto/x": Not a directory' "$lra" train "${smoke[@]}" --attention linear --out mine.textproto/x
expect 2 'mine.textproto: is no run and no weights file' "$lra" eval mine.textproto
expect 2 'the model guesses labels, not tokens' "$lra" generate "$run"
# Reading either would not end.
mkfifo pipe
expect 2 'pipe.*: it is a pipe or a device' timeout 300 "$lra" train "${smoke[@]}" --attention linear --out x --config pipe
expect 2 'zero.*: it is a pipe or a device' timeout 300 "$lra" config --config /dev/zero
[ ! -e x ] || { echo "FAILED: a refused command left a run folder"; failures=$((failures + 1)); }

# A data set that 30 lines of NumPy wrote is as good as ours (docs/format.md).
for python in "${LRA_PYTHON:-python3}" /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null || continue
  "$python" "$here/write_dataset.py" "$work/numpy"
  # Predictions of another program that uses the root operator's table score what our baseline of that table scores.
  expect 0 'logits \[60, 10\]' "$python" "$here/../examples/score/predict.py" data/listops p.npy
  expect 0 'listops mine test: .* -> runs/external-mine-listops$' "$lra" score --data listops --predictions p.npy --name mine --preset smoke
  # Rows in another order are put in order by their index; the same predictions without it score by chance, and that is said.
  expect 0 'view-of-listops' "$lra" data export listops --out view-of-listops --preset smoke
  expect 2 'view-of-listops.* exist' "$lra" data export listops --out view-of-listops
  expect 0 'q.npz: 60 rows' "$python" "$here/../examples/score/predict_view.py" view-of-listops q.npz
  expect 0 'listops indexed test: ' "$lra" score --data listops --predictions q.npz --name indexed --preset smoke
  "$python" -c 'import numpy as np; q = np.load("q.npz"); np.save("q.npy", q["predictions"]); np.save("i.npy", q["index"]); np.save("twice.npy", 0 * q["index"])'
  expect 0 'warning: test accuracy .* is not above the majority class.*--index FILE' "$lra" score --data listops --predictions q.npy --name misordered --preset smoke
  expect 0 '"warnings"' "$lra" score --data listops --predictions q.npy --name misordered --preset smoke --json
  expect 0 'listops ordered test: ' "$lra" score --data listops --predictions q.npy --index i.npy --name ordered --preset smoke
  expect 2 'twice.npy: row 1: the index 0 stands in row 0 already' "$lra" score --data listops --predictions q.npy --index twice.npy --name twice --preset smoke
  expect 2 'holds an index, and --index gives another' "$lra" score --data listops --predictions q.npz --index i.npy --name twice --preset smoke
  for name in mine indexed ordered; do
    expect 0 "^$(correct runs/listops-baseline-root_operator)$" correct "runs/external-$name-listops"
  done
  expect 0 'mine .* (1 run|FAIL 0/1)' "$lra" table runs
  expect 1 'results\[' "$lra" diff runs/external-mine-listops runs/listops-baseline-majority
  expect 2 'p.npy.*60 examples; the train split of listops has 300' "$lra" score --data data/listops --predictions p.npy --name mine --split train
  expect 2 'is an attention or a baseline of this program' "$lra" score --data data/listops --predictions p.npy --name linear
  expect 2 'is an attention or a baseline of this program' "$lra" score --data data/listops --predictions p.npy --name root_operator
  expect 2 'holds predictions of other code .mine., which has no checkpoint' "$lra" eval runs/external-mine-listops
  expect 2 'holds a baseline .majority., which has no checkpoint' "$lra" eval runs/listops-baseline-majority
  printf 'no array' > text.npy
  expect 2 'text.npy.*numpy.save.*dtype="<i4" classes' "$lra" score --data data/listops --predictions text.npy --name mine
  expect 0 'valid' "$lra" data verify numpy
  expect 0 'listops linear seed 0' "$lra" train "${smoke[@]}" --attention linear --data numpy --out numpy-run \
    --set train.batch_examples=2
  # Without --out the run's folder names the data.
  expect 0 'runs/listops-linear-smoke-[0-9a-f]{8}-data-[0-9a-f]{8}-s0$' "$lra" train "${smoke[@]}" --attention linear --data numpy --set train.batch_examples=2
  break
done

# SIGUSR1 saves and continues; SIGTERM saves and stops, and the run can be resumed.
long=(--attention linear --out signals --set train.steps=1000000 --set train.eval_every_steps=1000000)
"$lra" train "${smoke[@]}" "${long[@]}" >signals.log 2>&1 &
pid=$!
wait_for() { await "$pid" test -e "$1" || { echo "FAILED: no $1"; failures=$((failures + 1)); }; }
wait_for signals/curve.jsonl
kill -USR1 "$pid"
wait_for signals/checkpoint/latest
kill -0 "$pid" || { echo "FAILED: SIGUSR1 ended the run"; failures=$((failures + 1)); }
stop() {
  local code=0
  kill -TERM "$1"
  wait "$1" || code=$?
  [ "$code" = 1 ] || { echo "FAILED: exit $code after SIGTERM"; failures=$((failures + 1)); }
}
stop "$pid"
expect 0 'stopped at step [0-9]+ of 1000000; saved in signals; --resume goes on' cat signals.log
# The run has no point of its curve yet; its checkpoint says where it stopped.
step=$(sed -n 's/.*stopped at step \([0-9]*\) of.*/\1/p' signals.log)
expect 0 "\"step\": $step," "$lra" watch signals --json
expect 0 '"state": "stopped"' "$lra" runs signals --json
expect 2 'memory-budget: is 10 B, but a step with one' "$lra" train "${smoke[@]}" --attention linear --out w --memory-budget 10B
search=(--set search.learning_rate=1e-3,1e-4 --set search.budget_trials=2 --set search.select=VALIDATION)
expect 2 'learning rate 0.001: .*memory-budget' "$lra" train "${smoke[@]}" --attention linear --out w/w "${search[@]}" --memory-budget 10B
expect 2 'memory-budget' "$lra" train "${smoke[@]}" --attention linear --out w --memory-budget much
[ ! -e w ] || { echo "FAILED: a run that was refused left $(find w)"; failures=$((failures + 1)); }
# `lra watch` shows the trial of a search that is being trained.
"$lra" train "${smoke[@]}" "${long[@]/signals/trials}" "${search[@]}" >trials.log 2>&1 &
pid=$!
wait_for trials/trials/lr-0.001/curve.jsonl
expect 0 'running: trial 1.*, learning rate 0.001: step' "$lra" watch trials
stop "$pid"
expect 0 'stopped: trial 1 of 2, learning rate 0.001: step' "$lra" watch trials
expect 0 '"part": "trial 1 of 2, learning rate 0.001"' "$lra" watch trials --json
# If only a part of a split is scored, the output says so and tables leave the result out.
expect 0 'test .* of 16, the first of 60\)' "$lra" train "${smoke[@]}" --attention linear --out part --set evaluation.scored_examples=16
expect 1 'part: linear was scored on the first 16 of 60 test examples only' "$lra" table part
expect 0 'test step 6: .* of 60;' "$lra" eval part --split test
expect 0 'micro_batch_examples: 8' bash -c "'$lra' train ${smoke[*]} --attention linear --out v --memory-budget 4GB && cat v/record.textproto"
expect 2 'evaluation.step: is 7, must be at most train.steps, 6' "$lra" train "${smoke[@]}" --attention linear --out u \
  --set evaluation.selection=FIXED_STEP --set evaluation.step=7

# A model that cannot fit is refused before anything of it is made.
expect 2 'training it takes at least 1.. TB .* and there are .*--memory-budget' "$lra" train "${smoke[@]}" --attention linear --out w \
  --set model.width=65536 --set model.qkv_width=65536 --set model.mlp_width=262144 --set model.layers=128
[ ! -e w ] || { echo "FAILED: a run that cannot fit left $(find w)"; failures=$((failures + 1)); }

# If the answer is no, the exit code is 1.
expect 1 'not finite at step' "$lra" train "${smoke[@]}" --attention linear --out y --set schedule.learning_rate=1000 \
  --set optimizer.clip_norm=0 --set schedule.kind=CONSTANT --set schedule.warmup_fraction=0 --set train.steps=200 --set train.eval_every_steps=200
# Its record says so, and resuming repeats it. A table counts it as a failure of its method.
expect 0 '"kind": "DIVERGED"' cat y/record.json
expect 1 'not finite at step' "$lra" train "${smoke[@]}" --attention linear --out y --resume --set schedule.learning_rate=1000 \
  --set optimizer.clip_norm=0 --set schedule.kind=CONSTANT --set schedule.warmup_fraction=0 --set train.steps=200 --set train.eval_every_steps=200
expect 0 'diverged: step' "$lra" watch y
expect 1 'it stopped: training: .* is not finite' "$lra" doctor y
expect 1 'failure.step: .unset. -> ' "$lra" diff "$run" y
expect 0 'FAIL 0/1' "$lra" table y runs/listops-baseline-majority
expect 0 'diverged' "$lra" runs y
expect 0 'linear, seed 0, diverged at step' "$lra" table y
file=$(ls data/listops/train-*.tokens.npy | head -1)
printf '\x07' | dd of="$file" bs=1 seek=300 conv=notrunc status=none
expect 1 "$(basename "$file")" "$lra" data verify data/listops
expect 1 "$(basename "$file")" "$lra" train "${smoke[@]}" --attention linear --out z

for command in init attend generate locality bench 'bench step' 'bench efficiency' list config diff profile doctor watch runs data baseline train eval score table compare power 'data prepare' 'data verify' 'data show' 'data list' 'data export'; do
  # shellcheck disable=SC2086
  expect 0 'Examples:' "$lra" $command --help
done
[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
