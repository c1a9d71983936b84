#!/usr/bin/env bash
# How the tests' Slurm ends, with stand-ins for its commands and for the time: its daemons outlive jobs that take longer than
# KillWait to end, by no more than that, and end at last where a job does not.
# usage: slurm_cluster_test.sh
set -euo pipefail
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
source "$here/slurm_cluster.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
echo KillWait=20 >"$work/slurm.conf"
SLURM_CONF=$work/slurm.conf

scancel() { :; }
sleep() { slept_tenths=$((slept_tenths + 1)); }
squeue() { [ "$slept_tenths" -ge "$job_tenths" ] || echo "12 work mine root CG"; }
kill() { ended_at_tenths=$slept_tenths; }

# ends_after JOB DAEMONS SAID: with a job that ends after so many tenths of a second the daemons end after so many, and this is
# said.
ends_after() {
  local said
  job_tenths=$1 slept_tenths=0 ended_at_tenths=never
  slurm_daemons=(stand-in)
  stop_cluster >"$work/said"
  said=$(cat "$work/said")
  [ "$ended_at_tenths" = "$2" ] || { echo "FAILED: a job of $1 tenths: daemons end after $ended_at_tenths, not $2"; failures=$((failures + 1)); }
  [ "$said" = "$3" ] || { echo "FAILED: a job of $1 tenths: \"$said\" is said, not \"$3\""; failures=$((failures + 1)); }
}
ends_after 0 0 ''
ends_after 1 1 ''
ends_after 250 250 ''
ends_after 100000 300 $'jobs that did not end in 30 s:\n12 work mine root CG'

[ "$failures" = 0 ] && echo "stop_cluster: as expected" || exit 1
