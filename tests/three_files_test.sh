#!/usr/bin/env bash
# Holds the tutorials to their word: a task, an attention or a block is three new files and no edit. In a copy of the tree each
# tutorial's plug-in is added under another name by scripts/new (the copy's examples keep theirs), compiled and linked by the
# copy's own build rules, used, and then every test that looks at configurations, protocols, registries and pages is run.
#
# What the copy shares with the tree is not compiled again: the build folder's objects stand in for it, and the copy's
# files are compared with the tree's at the end. So this shows that the build finds the new files, that nothing else
# needs a change, and that what looks at all plug-ins accepts them; that the tree itself compiles is the build's part.
#
# usage: three_files_test.sh SOURCE BUILD    BUILD was made by Ninja and is up to date
set -euo pipefail
unset CDPATH
source_dir=$1 build_dir=$2
[ -f "$build_dir/build.ninja" ] || { echo "skipped: $build_dir was not made by Ninja"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LRA_DATA
tree=$work/tree build=$work/tree/build/copy
source "$source_dir/tests/expect.sh"

# Whatever asks for all configurations, protocols, tasks or attentions.
tests=(lra_core_test tasks_test views_test data_of_task_test models_attention_facts_test
  lra_eval_leaderboard_tasks_test layers tutorials mutations_fit protocols_page results_page footguns)
programs=(lra lra_core_test tasks_test views_test data_of_task_test models_attention_facts_test
  lra_eval_leaderboard_tasks_test models_conformance_test models_block_conformance_test)

# The tree's files without what git ignores; of a release without .git, all but the build folders.
source_files() {
  if [ -e .git ]; then git ls-files -co --exclude-standard; else find . -path ./build -prune -o -type f -printf '%P\n'; fi
}

copied_files() { (cd "$tree" && find . -path ./build -prune -o -type f -printf '%P\n' | LC_ALL=C sort); }

copy_tree() {
  mkdir -p "$build"
  (cd "$source_dir" && source_files | tar --ignore-failed-read -cf - -T - 2>/dev/null) | tar -xf - -C "$tree"
  # LibTorch may lie here; git ignores it.
  [ ! -e "$source_dir/third_party" ] || ln -s "$source_dir/third_party" "$tree/third_party"
  copied_files | tee "$work/original" >"$work/known"
  # The build folder's choices and compiler, so that nothing is looked for again.
  sed "s|$build_dir|$build|g; s|$source_dir|$tree|g" "$build_dir/CMakeCache.txt" >"$build/CMakeCache.txt"
  mkdir "$build/CMakeFiles"
  cp -r "$build_dir"/CMakeFiles/[0-9]* "$build/CMakeFiles/"
  cp -r "$build_dir/proto" "$build/proto"
}

# Lets the build folder's file stand in for what the copy has not made.
stand_in() {
  local file
  for file in "$@"; do
    [ ! -e "$build/$file" ] && [ -e "$build_dir/$file" ] || continue
    mkdir -p "$build/$(dirname "$file")"
    ln -s "$build_dir/$file" "$build/$file"
  done
}

configure() { cmake "$tree" -B "$build" >"$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }; }

# make_plugin NAME: what the copy's build rules say about the new files, then about each program that holds them.
make_plugin() {
  configure
  ninja -C "$build" -t commands "${programs[@]}" >"$work/commands"
  # shellcheck disable=SC2046
  stand_in $(cd "$build_dir" && find . -name cmake_pch.hxx.gch)
  grep "my_$1" "$work/commands" >"$work/new" || { echo "the build does not find my_$1"; exit 1; }
  for program in "${programs[@]}"; do grep -E -- " -o ([a-z_/]*/)?$program " "$work/commands"; done >>"$work/new"
  while read -r command; do
    # shellcheck disable=SC2046
    stand_in $(grep -oE '[^ ]+\.(o|a)( |$)' <<<"$command" || true)
    (cd "$build" && bash -c "$command") >"$work/make.log" 2>&1 || { echo "$command"; cat "$work/make.log"; exit 1; }
  done <"$work/new"
}

# report KIND NAME SECONDS: fails unless three files are new and none of the others changed.
report() {
  local added touched=0 file
  copied_files >"$work/now"
  added=$(LC_ALL=C comm -13 "$work/known" "$work/now" | wc -l)
  mv "$work/now" "$work/known"
  while read -r file; do cmp -s "$source_dir/$file" "$tree/$file" || touched=$((touched + 1)); done <"$work/original"
  echo "$1 my_$2: $added new files, $touched of $(wc -l <"$work/original") existing ones touched, $3 seconds"
  [ "$added" = 3 ] && [ "$touched" = 0 ] || failures=$((failures + 1))
}

lra=$build/lra
export LRA_CONFIGS=$tree/configs OMP_NUM_THREADS=1
smoke=(--preset smoke --quiet)
small=(--set train_examples=80 --set validation_examples=20 --set test_examples=20 --quiet)

use_task() {
  expect 0 'my_parity' "$lra" list tasks
  expect 0 'ok' "$lra" check my_parity
  expect 0 'my_parity, generated' "$lra" data prepare my_parity "${small[@]}"
  expect 0 'labels evaluated anew: 120' "$lra" data verify my_parity
  expect 0 '' "$lra" data show my_parity --n 3
  expect 0 'majority' "$lra" baseline my_parity --quiet
  expect 0 'my_parity linear seed 0: .*test' "$lra" train --task my_parity --attention linear "${smoke[@]}"
  expect 0 'my_parity' "$lra" table runs
  expect 2 'protocol "s4@4" has no rules for task "my_parity"' "$lra" train --task my_parity --attention linear --protocol s4 "${smoke[@]}"
  expect 2 'preset "lra2020" has no sizes for task "my_parity"' "$lra" config --task my_parity --attention linear --preset lra2020
}

use_token_task() {
  expect 0 'ok' "$lra" check my_reverse
  expect 0 'my_reverse, generated' "$lra" data prepare my_reverse "${small[@]}"
  expect 0 'gzip .* nats' "$lra" baseline my_reverse --quiet
  expect 0 'my_reverse linear seed 0: .*test .* nats' "$lra" train --task my_reverse --attention linear "${smoke[@]}" --out runs/reverse
  expect 0 'no cause for concern' "$lra" doctor runs/reverse
  expect 0 '[|]' "$lra" generate runs/reverse --examples 2
  # Hidden tokens of the same data, which need nothing of the task.
  local hidden=(--set view.target=MASKED --set attention.causal=false)
  expect 0 'my_reverse linear seed 0: .*test .* nats' "$lra" train --task my_reverse --attention linear "${smoke[@]}" "${hidden[@]}" --out runs/hidden
  expect 0 'no cause for concern' "$lra" doctor runs/hidden
  expect 2 'guesses hidden tokens from all others' "$lra" generate runs/hidden --examples 2
}

use_attention() {
  expect 0 'my_taylor' "$lra" list attentions --params
  expect 0 'ok +T1' "$lra" check my_taylor
  expect 0 'my_taylor' "$lra" list attentions my_taylor
  expect 0 'my_parity my_taylor seed 0: .*test' "$lra" train --task my_parity --attention my_taylor "${smoke[@]}"
  # A protocol that drops the weights of others.
  expect 0 '' "$lra" config --task listops --attention my_taylor --protocol nystrom
  expect 0 'PASSED' "$build/models/models_conformance_test" '--gtest_filter=*/my_taylor'
}

use_block() {
  expect 0 'my_average' "$lra" list blocks
  expect 0 'ok +T1' "$lra" check my_average
  expect 0 'its own: --attention none' "$lra" list blocks my_average
  expect 0 'my_parity my_average seed 0: .*test' "$lra" train --task my_parity --attention none --set block.name=my_average "${smoke[@]}"
  expect 0 'PASSED' "$build/models/models_block_conformance_test" '--gtest_filter=*/my_average'
}

# Tests that plug-ins bring along are found, too, and are no part of the program.
find_tests() {
  local file added=(models/attention/my_taylor_test.cc models/block/my_average_test.cc models/conformance/golden_my_taylor_test.cc)
  for file in "${added[@]}"; do touch "$tree/$file"; done
  configure
  expect 0 ' -c [^ ]*/models/attention/my_taylor_test.cc' ninja -C "$build" -t commands models_plug_ins_test
  expect 0 ' -c [^ ]*/models/block/my_average_test.cc' ninja -C "$build" -t commands models_plug_ins_test
  expect 0 ' -c [^ ]*/models/conformance/golden_my_taylor_test.cc' ninja -C "$build" -t commands models_conformance_test
  expect 1 '^$' bash -c "ninja -C '$build' -t commands lra | grep -E 'my_(taylor|average)_test' || { echo; exit 1; }"
  for file in "${added[@]}"; do rm "$tree/$file"; done
  configure
}

# plugin KIND EXAMPLE: KIND's example as my_EXAMPLE.
plugin() {
  local begin=$SECONDS
  expect 0 "build/release/lra check my_$2" "$tree/scripts/new" "$1" "my_$2"
  make_plugin "$2"
  "use_$1"
  report "$1" "$2" $((SECONDS - begin))
}

copy_tree
mkdir "$work/scratch" && cd "$work/scratch"
plugin task parity
plugin token_task reverse
plugin attention taylor
plugin block average
find_tests
# The step that docs/adding_a_task.md asks for.
"$lra" list protocols --markdown >"$tree/docs/protocols.md"
begin=$SECONDS
ctest --test-dir "$build" --output-on-failure -R "^($(IFS='|'; echo "${tests[*]}"))\$" >"$work/ctest.log" 2>&1 ||
  { cat "$work/ctest.log"; failures=$((failures + 1)); }
passed=$(grep -c ' Passed ' "$work/ctest.log" || true)
echo "$passed of ${#tests[@]} tests pass over all of them, $((SECONDS - begin)) seconds"
[ "$passed" = ${#tests[@]} ] || failures=$((failures + 1))
[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
