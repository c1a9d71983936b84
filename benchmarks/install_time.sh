#!/usr/bin/env bash
# What a user waits for, from an installation file to the first table: `lra quickstart` in a bare Debian 12, first from the
# wheel, where only Python and torch (from PyPI, 5 GB) are; then from the archive with LibTorch, without Python. Prints seconds of wall time and of
# CPU time, and what the Python package takes. Root; needs debootstrap; half an hour at most. The file's own making is not counted.
#
# usage: benchmarks/install_time.sh BUILD [wheel|archive]     BUILD has -DLRA_PYTHON=ON; without a word both
set -euo pipefail
unset CDPATH
source_dir=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n '6s/^# //p' "$0" >&2; exit 2; }
build=$(realpath "$1") which=${2:-wheel archive}
source "$source_dir/tests/bare_system.sh"
venv=/opt/venv/bin

# timed NAME COMMAND...: runs it quietly; prints what it took.
timed() {
  local name=$1 TIMEFORMAT='%R s, of CPU time %U s and %S s in the kernel'
  shift
  { time "$@" >"$work/output" 2>"$work/log"; } 2>"$work/time" || { echo "failed: $*"; tail -20 "$work/log"; exit 1; }
  echo "$name: $(cat "$work/time")"
}

# The seconds since 1970 at which the first run's folder was made: training begins.
training_begins() { stat -c %W "$root/root/runs/quickstart/transformer"; }

# first_table NAME STARTED LRA...: `lra quickstart`, and how long it is since STARTED (seconds since 1970).
first_table() {
  local name=$1 started=$2
  timed "lra quickstart" in_bare_system sh -c 'cd /root && exec "$@"' sh "${@:3}" quickstart
  echo "$name, from installing to the table: $(($(date +%s) - started)) s; before training: $(($(training_begins) - started)) s"
  cat "$work/output"
}

# What importing costs, as a second process sees it: files are in memory. Median of five.
import_cost() {
  local statement
  for statement in 'import torch' 'import lra' 'import torch, lra'; do
    for _ in 1 2 3 4 5; do
      in_bare_system $venv/python -c "
import time; started = time.perf_counter()
$statement
seconds = time.perf_counter() - started
import resource; print(f'{seconds:.3f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB')"
    done | sort -n | sed -n "3s/^/$statement: /p"
  done
}

measure_wheel() {
  local wheel started
  wheel=$("$source_dir/scripts/package" --build "$build" --wheel "$work/wheels" 2>/dev/null)
  make_bare_system python3,python3-venv,ca-certificates
  umount "$root/opt/wheel"
  cp "$wheel" "$root/root"
  in_bare_system python3 -m venv /opt/venv
  timed "pip install torch, which is there beforehand" with_network $venv/pip install -q --no-cache-dir numpy \
    "torch==$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$torch/version.py")"
  echo "wheel: $(basename "$wheel"), $(stat -c %s "$wheel") bytes"
  started=$(date +%s)
  timed "pip install" in_bare_system $venv/pip install -q --no-index "/root/$(basename "$wheel")"
  first_table "wheel" "$started" $venv/lra
  import_cost
  "$source_dir/build/wheel-venv/bin/auditwheel" show "$wheel" | grep -v '^$'
  echo "licences: $(sed -n 's/^=== \(.*\) ===$/\1/p' "$root"/opt/venv/lib/python3*/site-packages/lra_arena-*.dist-info/licenses/NOTICES | paste -sd ';')"
}

measure_archive() {
  local started
  "$source_dir/scripts/package" --build "$build" --with-libtorch --archive "$work/lra.tar.gz" 2>/dev/null
  make_bare_system
  [ ! -e "$root/usr/bin/python3" ] || { echo "the bare system has Python"; exit 1; }
  umount "$root/opt/wheel"
  cp "$work/lra.tar.gz" "$root/root"
  echo "archive: $(stat -c %s "$work/lra.tar.gz") bytes"
  started=$(date +%s)
  timed "tar -xf" in_bare_system tar -C /opt -xf /root/lra.tar.gz
  first_table "archive" "$started" /opt/lra/bin/lra
}

echo "$(nproc) cores, $(sed -n 's/^model name.*: //p;' /proc/cpuinfo | head -1), load before: $(cut -d ' ' -f 1 /proc/loadavg)"
for way in $which; do
  measure_"$way"
  umount "$root/opt/wheel" "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
done
