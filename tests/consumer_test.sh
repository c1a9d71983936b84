#!/usr/bin/env bash
# Installs the build into a scratch folder, then configures, builds and runs tests/consumer against it.
# usage: consumer_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source_dir=$1 build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"
# A library's headers need no GoogleTest, and those of its tests stay at home.
if find "$work/prefix" -name '*_test_util.h' | grep . || grep -rlE 'gtest/|gmock/' "$work/prefix/include/lra"; then
  echo "FAILED: the headers above are for tests and were installed"; exit 1
fi
cmake -S "$source_dir/tests/consumer" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log" ||
  { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
env -u LRA_CONFIGS LRA_CONFIGS="$work/prefix/share/lra/configs" "$work/build/consumer"
# The installed program finds its own configs.
(cd "$work" && env -u LRA_CONFIGS "$work/prefix/bin/lra" list presets | grep '^ *small' >/dev/null)
