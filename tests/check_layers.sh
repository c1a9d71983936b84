#!/usr/bin/env bash
# Enforces the arrows of docs/architecture.md on #include lines and proto imports: a folder may include itself and the
# folders listed for it, LibTorch appears only where it may, and <torch/torch.h> nowhere.
#
# usage: check_layers.sh ROOT         self-test, then the check of ROOT; exit code 1 names file, line and rule
#        check_layers.sh --self-test  plants one violation of each rule and demands that it is found
set -euo pipefail

folders="lra datasets tasks models eval ranks run_folder train suite inspect bench report cli python"

# Reads "file:line:text" of include and import lines; prints one line for each violation, then the number of lines read.
# A room is a folder, or a sub-folder that has rules of its own; a file belongs to the innermost room above it.
rules='
BEGIN {
  count = split(folder_names, list, " ")
  for (i = 1; i <= count; i++) is_folder[list[i]] = 1
  # What a room may include besides itself. "models/*" stands for all rooms of models/.
  may["lra"] = ""
  may["datasets"] = "lra"
  may["tasks"] = "lra datasets"
  may["models/base"] = "lra"
  may["models/kernels"] = "lra models/base"
  may["models/interface"] = "lra models/base models/kernels"
  may["models/factorized"] = "lra models/base models/kernels models/interface"
  may["models/attention"] = "lra models/base models/kernels models/interface models/factorized"
  may["models/layers"] = "lra models/base models/kernels models/interface"
  may["models/block"] = "lra models/base models/kernels models/interface models/layers"
  may["models/encoder"] = "lra datasets models/base models/kernels models/interface models/layers"
  may["models"] = "lra datasets models/base models/kernels models/interface models/layers models/encoder"
  may["models/conformance"] = "lra datasets models models/*"
  may["eval"] = "lra datasets models models/base"
  may["ranks"] = "lra"
  may["run_folder"] = "lra eval models/base"
  may["train"] = "lra datasets models models/base models/encoder eval ranks run_folder"
  may["suite"] = "lra eval run_folder train bench"
  may["inspect"] = "lra datasets models models/base models/interface models/encoder eval run_folder train"
  may["bench"] = "lra datasets eval"
  may["report"] = "lra eval bench"
  may["bench/measure"] = "lra datasets models models/* eval run_folder train bench"
  may["cli"] = "lra datasets tasks models models/base models/interface models/conformance eval ranks run_folder train suite inspect bench bench/measure report"
  may["python"] = "lra datasets tasks eval"
  may["python/trainer"] = "lra models/base models/interface eval train python"
}
function room_of(path) {
  while (sub(/\/[^\/]*$/, "", path)) if (path in may) return path
  return ""
}
function allows(from, to,   count, list, i) {
  count = split(may[from], list, " ")
  for (i = 1; i <= count; i++) if (list[i] == to || (list[i] == "models/*" && to ~ /^models\//)) return 1
  return 0
}
# Whether a file must be free of LibTorch: the data arm, what Python loads, and in eval everything but the evaluator.
function torch_free(file, from) {
  return from ~ /^(lra|datasets|tasks|bench|report|python)$/ || (from == "eval" && file !~ /^eval\/evaluator/)
}
function broken_rule(file, target,   from, to) {
  from = room_of(file)
  to = room_of(target)
  if (target ~ /^torch\/(torch|all)\.h$/) return "never <" target ">: include the narrow headers"
  if (target ~ /^(torch|ATen|c10|caffe2)\//) return torch_free(file, from) ? "this file is free of LibTorch" : ""
  if (to == "" || to == from) return ""
  # What an attention in Python is called in records.
  if (from == "python/trainer" && target == "models/attention/python.pb.h") return ""
  # The messages of all folders are one target without LibTorch; a test of lra/ needs some to try its reflection on.
  if (file ~ /_test\.cc$/ && target ~ /\.pb\.h$/) return ""
  # A test of one room of models/ may use other rooms to build what it tests.
  if (file ~ /^models\/.*_test\.cc$/ && to ~ /^models/) return ""
  if (to ~ /^models/ && target !~ /\.pb\.h$/ && torch_free(file, from)) return "this file is free of LibTorch, that is not"
  return allows(from, to) ? "" : from " may not include " to
}
{
  lines++
  file = $0; sub(/:.*/, "", file)
  rest = substr($0, length(file) + 2)
  line = rest; sub(/:.*/, "", line)
  target = substr(rest, length(line) + 2)
  sub(/^[^<"]*[<"]/, "", target); sub(/[>"].*/, "", target)
  rule = broken_rule(file, target)
  if (rule != "") print file ":" line ": includes " target ": " rule
}
END { print lines + 0 }'

# check ROOT: prints violations, exit code 1 if there are any.
check() {
  local pattern='^[[:space:]]*(#[[:space:]]*include[[:space:]]*[<"]|import[[:space:]]+(public[[:space:]]+)?")' present=() output
  cd "$1"
  for folder in $folders; do if [ -d "$folder" ]; then present+=("$folder"); fi; done
  if [ ${#present[@]} = 0 ]; then echo "$1: holds none of the folders $folders"; return 1; fi
  output=$(grep -rnE --include='*.h' --include='*.cc' --include='*.proto' --include='*.h.in' "$pattern" "${present[@]}" |
    awk -v folder_names="$folders" "$rules") || output=0
  case $output in
    0) echo "$1: no includes found; is it the root of the project?"; return 1 ;;
    *[!0-9]*) sed '$d' <<<"$output"; return 1 ;;
  esac
}

# plant ROOT FILE LINE: adds one line to a file of a tree.
plant() {
  mkdir -p "$(dirname "$1/$2")"
  printf '%s\n' "$3" >>"$1/$2"
}

# expect NAME CODE FILE LINE: the clean tree plus one planted line must give this exit code and name the file.
expect() {
  local name=$1 code=$2 file=$3 line=$4 tree actual=0 output
  tree=$(mktemp -d)
  plant "$tree" lra/files.h '#include "absl/status/status.h"'
  plant "$tree" train/run.cc '#include "eval/metrics.h"'
  plant "$tree" models/attention/linear.cc '#include "models/interface/attention.h"'
  plant "$tree" "$file" "$line"
  output=$(check "$tree") || actual=$?
  rm -rf "$tree"
  if [ "$actual" != "$code" ] || { [ "$code" = 1 ] && [[ "$output" != *"$file"* ]]; }; then
    echo "self-test \"$name\": exit code $actual, expected $code; printed: $output"
    return 1
  fi
}

self_test() {
  expect "an allowed include" 0 models/kernels/softmax.cc '#include "lra/check.h"'
  expect "a message in a test" 0 lra/a_test.cc '#include "eval/run_record.pb.h"'
  expect "LibTorch in the model arm" 0 models/encoder/encoder.cc '#include <ATen/core/Tensor.h>'
  expect "LibTorch in the evaluator" 0 eval/evaluator.cc '#include <ATen/core/Tensor.h>'
  expect "a system header" 0 lra/a.h '#include <train>'
  expect "an include in a comment" 0 lra/a.h '// #include "train/run.h"'
  expect "lra includes datasets" 1 lra/a.cc '#include "datasets/dataset.h"'
  expect "a message outside a test" 1 lra/a.cc '#include "eval/run_record.pb.h"'
  expect "another header in a test" 1 lra/a_test.cc '#include "eval/run_record.h"'
  expect "datasets includes tasks" 1 datasets/a.cc '#include "tasks/task.h"'
  expect "tasks includes models" 1 tasks/listops/a.cc '#include "models/classifier.h"'
  expect "tasks includes eval" 1 tasks/a.h '#include "eval/metrics.h"'
  expect "models includes tasks" 1 models/attention/a.cc '#include "tasks/task.h"'
  expect "models includes eval" 1 models/a_test.cc '#include "eval/metrics.h"'
  expect "eval includes train" 1 eval/a.cc '  #  include "train/run.h"'
  expect "train includes cli" 1 train/a.cc '#include <cli/command.h>'
  expect "train includes tasks" 1 train/a.cc '#include "tasks/task.h"'
  expect "a proto against the arrows" 1 lra/a.proto 'import "eval/run_record.proto";'
  expect "LibTorch in the data arm" 1 tasks/a.cc '#include <ATen/ATen.h>'
  expect "LibTorch in records" 1 eval/leaderboard.cc '#include <c10/util/Exception.h>'
  expect "LibTorch in records, through models" 1 eval/leaderboard.cc '#include "models/classifier.h"'
  expect "a plug-in of its own room" 0 models/attention/a.cc '#include "models/attention/pattern_stream.h"'
  expect "a plug-in in a test of another room" 0 models/encoder/a_test.cc '#include "models/attention/pattern_stream.h"'
  expect "the interface includes a plug-in" 1 models/interface/a.h '#include "models/attention/pattern_stream.h"'
  expect "the family includes a plug-in" 1 models/factorized/a.cc '#include "models/attention/factorized.pb.h"'
  expect "kernels include the interface" 1 models/kernels/a.cc '#include "models/interface/attention.h"'
  expect "the ground floor includes kernels" 1 models/base/a.h '#include "models/kernels/dropout.h"'
  expect "a layer includes the encoder" 1 models/layers/a.cc '#include "models/encoder/encoder.h"'
  expect "the encoder includes a plug-in" 1 models/encoder/a.cc '#include "models/attention/pattern_stream.h"'
  expect "the encoder includes a block" 1 models/encoder/a.cc '#include "models/block/mixer.pb.h"'
  expect "a block of layers" 0 models/block/a.cc '#include "models/layers/norm.h"'
  expect "a block includes an attention" 1 models/block/a.cc '#include "models/attention/linear.pb.h"'
  expect "a block includes the encoder" 1 models/block/a.cc '#include "models/encoder/encoder.h"'
  expect "a layer includes a block" 1 models/layers/a.cc '#include "models/block/a.h"'
  expect "the encoder includes the roof" 1 models/encoder/a.cc '#include "models/classifier.h"'
  expect "the roof includes conformance" 1 models/a.cc '#include "models/conformance/report.h"'
  expect "training includes conformance" 1 train/a.cc '#include "models/conformance/report.h"'
  expect "the ranks include models" 1 ranks/a.cc '#include "models/classifier.h"'
  expect "training includes the ranks" 0 train/a.cc '#include "ranks/ranks.h"'
  expect "the run folder includes training" 1 run_folder/a.cc '#include "train/optimizer.h"'
  expect "training includes what looks afterwards" 1 train/a.cc '#include "inspect/evaluate.h"'
  expect "what is measured, with LibTorch" 0 bench/measure/a.cc '#include <ATen/core/Tensor.h>'
  expect "tables of measurements with LibTorch" 1 bench/a.cc '#include <ATen/core/Tensor.h>'
  expect "tables of measurements include what measures" 1 bench/a.cc '#include "bench/measure/cases.h"'
  expect "the extension of Python with records" 0 python/a.cc '#include "eval/leaderboard.h"'
  expect "the extension of Python with LibTorch" 1 python/a.cc '#include <ATen/core/Tensor.h>'
  expect "the extension of Python includes training" 1 python/a.cc '#include "train/run.h"'
  expect "the trainer of Python with LibTorch" 0 python/trainer/a.cc '#include <ATen/core/Tensor.h>'
  expect "the trainer of Python includes the program" 1 python/trainer/a.cc '#include "cli/command.h"'
  expect "the header that includes everything" 1 cli/a.cc '#include <torch/torch.h>'
}

case "${1:-}" in
  --self-test) self_test && echo "check_layers: every planted violation was found" ;;
  "" | -*) echo "usage: check_layers.sh ROOT | --self-test" >&2; exit 2 ;;
  *) self_test && (check "$1") && echo "check_layers: every include follows the arrows" ;;
esac
