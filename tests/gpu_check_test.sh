#!/usr/bin/env bash
# scripts/gpu_check without a GPU: a rehearsal with the program itself, then stand-ins for one that fails and one that hangs.
# What is left of stages that are stopped is tested in gpu_check_stops_test.py.
# usage: gpu_check_test.sh SOURCE_DIR LRA
set -euo pipefail
check=$1/scripts/gpu_check lra=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; cat "$work/log"; exit 1; }

# Stands in for CUDA's tool, with its flags and its way to say that memory was misused.
mkdir "$work/tools"
cat >"$work/tools/compute-sanitizer" <<'TOOL'
#!/usr/bin/env bash
[ "$1 $2 $3 $4 $5 $6" = "--tool memcheck --target-processes all --error-exitcode 99" ] || exit 1
# In LibTorch's pools a write beside a tensor is none beside memory.
[ "$PYTORCH_NO_CUDA_MEMORY_CACHING" = 1 ] || exit 1
"${@:7}" || exit
case "$FINDS $*" in yes*attention.causal=true*) exit 99 ;; esac
TOOL
chmod +x "$work/tools/compute-sanitizer"

FINDS=no PATH=$work/tools:$PATH python3 "$check" check --lra "$lra" --device fake --minutes 60 "$work/out" >"$work/log" 2>&1 || fail "the rehearsal failed"
for stage in 'conformance of linear' 'cosformer: 4 losses' 'linear: graphs' '2 seeds at once, graphs on' 'the same bits again' 'killed and resumed' 'linear: compute-sanitizer' 'transformer: compute-sanitizer' steps-linear-small-64-float32; do
  grep -q "^| $stage | ok |" "$work/out/report.md" || fail "no $stage in the report"
done
grep -q ' of 16 steps repeated' "$work/out/report.md" || fail "the report does not say how many steps were repeated"
if grep -q '; 0 of 16 steps repeated' "$work/out/report.md"; then fail "no step was repeated"; fi
grep -q 'linear, as a graph' "$work/out/report.json" || fail "no step was timed as a graph"
grep -q '"device_profile"' "$work/out/report.json" || fail "no kernels were listed"
grep -q 'operators on the host of a step' "$work/out/report.md" || fail "the table of kernels is not in the report"
[ "$(ls "$work/out" | xargs)" = "report.json report.md" ] || fail "there is more than the report: $(ls "$work/out")"
cells=(cells --lra "$lra" --device cpu --minutes 60 --work "$work/kept" "$work/cells")
python3 "$check" "${cells[@]}" >"$work/log" 2>&1 || fail "the rehearsal of cells failed"
[ "$(grep -c '^| listops_smoke: listops-.* | ok |' "$work/cells/report.md")" = 4 ] || fail "not all runs are in the report"
grep -q '^| table of listops_smoke | ok |' "$work/cells/report.md" || fail "no table in the report"
# Records can be made into tables elsewhere.
[ "$(ls "$work/cells" | xargs)" = "records.tar.gz report.json report.md" ] || fail "there is more: $(ls "$work/cells")"
mkdir "$work/unpacked" && tar -C "$work/unpacked" -xzf "$work/cells/records.tar.gz"
"$lra" table "$work/unpacked/listops_smoke" >"$work/table" 2>"$work/log" || fail "records that came back make no table"
"$lra" table "$work/kept/runs/listops_smoke" | diff - "$work/table" >>"$work/log" || fail "records that came back make another table"
# What is finished is not trained again; an unknown suite is named. Run files that a suite's folder keeps come back with it.
mkdir "$work/kept/runs/listops_smoke/run_files"
echo 'protocol: "fair"' >"$work/kept/runs/listops_smoke/run_files/mine.textproto"
python3 "$check" "${cells[@]}" >"$work/log" 2>&1 || fail "the second call failed"
tar -tzf "$work/cells/records.tar.gz" >"$work/log"
grep -qx listops_smoke/run_files/mine.textproto "$work/log" || fail "a run file did not come back"
if grep -q '^| listops_smoke: listops-' "$work/cells/report.md"; then fail "finished runs were begun again"; fi
if python3 "$check" cells --lra "$lra" --device cpu --suites nosuch --work "$work/none-work" "$work/none" >"$work/log" 2>&1; then fail "an unknown suite passed"; fi
grep -q '^| suites | failed: .*nosuch' "$work/none/report.md" || fail "the unknown suite is not in the report"

# Losses that differ, too few of them and one that is no number, and a program that fails at one thing, are in the report, and
# the rest is tried.
cat >"$work/other" <<PROGRAM
#!/usr/bin/env bash
case "\$*" in
  *train*"repeat 2"*) "$lra" "\$@" --set schedule.learning_rate=0.25 ;;
  *train*linear*fake*) exit 3 ;;
  *train*transformer*fake*) "$lra" "\$@" --set schedule.learning_rate=0.5 ;;
  *train*cosformer*fake*) "$lra" "\$@" --set train.log_every_steps=2 ;;
  *train*local*fake*)
    "$lra" "\$@" && sed -i '2s/"train_loss":[^,]*/"train_loss":NaN/' "$work/other-work/runs/local on fake/curve.jsonl" ;;
  *) exec "$lra" "\$@" ;;
esac
PROGRAM
chmod +x "$work/other"
other=(check --lra "$work/other" --device fake --minutes 60 --work "$work/other-work" "$work/other-out")
if FINDS=yes PATH=$work/tools:$PATH python3 "$check" "${other[@]}" >"$work/log" 2>&1; then fail "failures were passed over"; fi
grep -q '^| linear on fake | failed with exit code 3 |' "$work/other-out/report.md" || fail "the failed stage is not named"
grep -q '^| transformer: 4 losses | failed: losses differ by' "$work/other-out/report.md" || fail "the losses were not compared"
grep -q '^| the same bits again | failed: other bits |' "$work/other-out/report.md" || fail "other bits were passed over"
grep -q '^| cosformer: 4 losses | failed: 4 losses against 2 |' "$work/other-out/report.md" || fail "missing losses were passed over"
grep -q '^| local: 4 losses | failed: a loss is not finite |' "$work/other-out/report.md" || fail "a NaN was passed over"
grep -q '^| transformer: compute-sanitizer | failed with exit code 99 |' "$work/other-out/report.md" || fail "misused memory was passed over"
grep -q '^| steps-linear-small-64-float32 | ok |' "$work/other-out/report.md" || fail "the rest was not tried"

printf '#!/bin/sh\nexec sleep 60\n' >"$work/hangs"
chmod +x "$work/hangs"
if python3 "$check" check --lra "$work/hangs" --device fake --minutes 0.05 "$work/hung" >"$work/log" 2>&1; then fail "a stage that hangs passed"; fi
grep -q 'stopped after' "$work/hung/report.md" || fail "the stage was not stopped"
