#!/usr/bin/env python3
"""What scripts/gpu_check leaves of stages that are stopped, with a stand-in for the program: nothing is built or trained.

usage: gpu_check_stops_test.py ROOT
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import types

# $STATE/log has its command lines. `train` fails at once or, where $TRAINS is set, ends the first time and then never; $BENCH says whether `bench step` ends, and runs of the suite are called
# ends, saves and stays, by what they do.
PROGRAM = r"""#!/usr/bin/env bash
echo "$*" >>"$STATE/log"
out= cell=
words=("$@")
for ((i = 0; i < $#; i++)); do
  case ${words[i]} in --out) out=${words[i + 1]} ;; --cell) cell=${words[i + 1]} ;; esac
done
case "$1 ${2-} $cell" in
  "list "*) echo "{\"$2\": []}" ;;
  "data prepare "*) mkdir -p "$out" ;;
  "train "*)
    [ -n "${TRAINS-}" ] || exit 3
    mkdir -p "$out/checkpoint"
    if mkdir "$STATE/ended" 2>/dev/null; then touch "$out/record.json" "$out/checkpoint/latest"; exit; fi
    touch "$out/checkpoint/latest"
    exec sleep 300 ;;
  "bench step "*)
    if [ "$BENCH" = ends ]; then echo '{"rows": [{"label": "linear", "results": [{"outcome": "MEASURED"}]}]}' >"$out"; exit; fi
    printf '%s: %s ms\n' "linear, eager PyTorch, repetition 1" 8.1 "linear, repetition 1" 12.2 "linear, repetition 2" 12.0 >&2
    (trap '' TERM; exec sleep 300) >/dev/null 2>&1 &
    echo $! >"$STATE/child"
    wait ;;
  "run "*" ends")
    mkdir -p "$out"/{ends,plan,ends/checkpoint} && touch "$out"/suite.textproto "$out/plan/cell.textproto" \
      "$out"/ends/{record.textproto,record.json,curve.jsonl,accuracy.npy,predictions.npy,checkpoint/latest} ;;
  "run "*" saves")
    trap 'touch "$out/saves/saved"; exit 1' TERM
    mkdir -p "$out/saves" && touch "$out/saves/curve.jsonl" "$STATE/begun"
    sleep 300 &
    wait ;;
  "run "*" stays")
    trap '' TERM
    echo $$ >"$STATE/child"
    while :; do sleep 0.1; done ;;
  "run "*" ") echo "{\"left\": $LEFT, \"cells\": [{\"task\": \"listops\"}]}" ;;
esac
"""
# Says of the run that takes no notice whether it is there when MPS is told to end.
MPS = r"""#!/usr/bin/env bash
[ $# = 0 ] || exit 0
read -r line
there=gone
kill -0 "$(cat "$STATE/child")" && there=there
echo "$line, the run is $there" >>"$STATE/mps"
"""


def load(root):
    """The script as a module, whose limits a test may change."""
    sys.dont_write_bytecode = True
    path = os.path.join(root, "scripts", "gpu_check")
    sys.path.insert(0, os.path.dirname(path))
    loader = importlib.machinery.SourceFileLoader("gpu_check", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def is_alive(process):
    """Whether a process computes; one that nobody has waited for does not."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def expect(truth, what):
    if not truth:
        sys.exit(f"FAILED: {what}")


def ends_soon(state):
    """Whether the process whose number the stand-in left ends; the kernel may take a moment."""
    process = int((state / "child").read_text())
    for _ in range(6000):
        if not is_alive(process):
            return True
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    return False


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def stages_of(out):
    return {stage["stage"]: stage for stage in json.loads((out / "report.json").read_text())}


class Place:
    """A folder for each case, with the program and its state."""

    def __init__(self, folder, **variables):
        self.out, self.work, self.state, bin_folder = (folder / name for name in ("out", "work", "state", "bin"))
        for one in (self.state, bin_folder, folder / "tmp"):
            one.mkdir(parents=True)
        write_program(folder / "lra", PROGRAM)
        write_program(bin_folder / "nvidia-cuda-mps-control", MPS)
        self.words = ["--lra", str(folder / "lra"), str(self.out)]
        self.tmp = folder / "tmp"
        self.variables = {"STATE": str(self.state), "PATH": f"{bin_folder}:{os.environ['PATH']}", "TMPDIR": str(self.tmp),
                          "PYTHONDONTWRITEBYTECODE": "1", **variables}

    def call(self, module, *words):
        """The exit code of the script in this process."""
        os.environ.update(self.variables)
        tempfile.tempdir = None  # it is asked once
        sys.argv = ["gpu_check", *words, *self.words]
        code = module.main()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        return code


def test_stopped_steps(module, folder):
    place = Place(folder, BENCH="hangs")
    seconds, module.STEP_SECONDS = module.STEP_SECONDS, 0.6  # ten times as long in a rehearsal
    code = place.call(module, "check", "--device", "fake")
    module.STEP_SECONDS = seconds
    stage = stages_of(place.out)["steps-linear-small-64-float32"]
    expect(code == 1 and stage["outcome"].startswith("stopped after"), f"exit code {code}, {stage}")
    rows = {row["label"]: [result["passes"]["seconds"] for result in row["results"]] for row in stage["rows"]}
    expect(set(rows) == {"linear, eager PyTorch", "linear"} and len(rows["linear"]) == 2 and abs(rows["linear"][1][0] - 0.012) < 1e-9,
           f"rows of a stopped cell: {rows}")
    expect(ends_soon(place.state), "a child of the stopped cell goes on")
    expect(files_of(place.out) == ["report.json", "report.md"], f"OUT has {files_of(place.out)}")
    expect(files_of(place.tmp) == [], f"left of the temporary folder: {files_of(place.tmp)}")


def test_order_of_steps(module, folder):
    place = Place(folder, BENCH="ends")
    place.call(module, "check", "--device", "cuda", "--python", "python9", "--work", str(place.work))
    calls = [line.split() for line in (place.state / "log").read_text().splitlines() if line.startswith("bench step")]
    flag = lambda call, name: call[call.index(name) + 1]
    compiled = [call for call in calls if "--compile" in call]
    plain = [call for call in calls if "--compile" not in call]
    expect(len(compiled) == 1 and flag(compiled[0], "--attention") == "linear" and flag(compiled[0], "--size") == "small"
           and flag(compiled[0], "--tokens") == "2000", f"torch.compile: {compiled}")
    expect([flag(call, "--size") for call in plain] == ["small", "official"] * 19, "small and official do not take turns")
    causal = [flag(call, "--dtype") for call in plain if flag(call, "--attention") == "linear:causal"]
    expect(causal == ["bfloat16"] * 2, f"causal linear attention: {causal}")
    expect(len({tuple(flag(call, name) for name in ("--attention", "--size", "--tokens", "--dtype")) for call in plain}) == 38,
           "a cell twice")
    for call in calls:
        expect("," not in flag(call, "--attention") and "--quiet" not in call and "--graphs" in call and "python9" in call, call)
    rows = [stage["rows"] for stage in stages_of(place.out).values() if "rows" in stage]
    expect(len(rows) == 39 and rows[0][0]["label"] == "linear", f"rows: {len(rows)}")


def test_stopped_cells(root, folder):
    place = Place(folder, LEFT='["ends", "saves"]')
    command = [sys.executable, os.path.join(root, "scripts", "gpu_check"), "cells", "--device", "cpu", "--jobs", "2", "--work",
               str(place.work), *place.words]
    with subprocess.Popen(command, env={**os.environ, **place.variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        last_of_ends = place.work / "runs/listops_smoke/ends/checkpoint/latest"
        while process.poll() is None and not ((place.state / "begun").exists() and last_of_ends.exists()):
            time.sleep(0.05)
        process.terminate()
        output = process.communicate(timeout=600)[0]
    stages = stages_of(place.out)
    expect(process.returncode == 1, output)
    expect(stages["listops_smoke: ends"]["outcome"] in ("ok", "stopped by a signal"), output)
    expect(stages["listops_smoke: saves"]["outcome"] == "stopped by a signal", output)
    expect((place.work / "runs/listops_smoke/saves/saved").exists(), "a run that is stopped does not save")
    expect(files_of(place.out) == ["records.tar.gz", "report.json", "report.md"], f"OUT has {files_of(place.out)}")
    with tarfile.open(place.out / "records.tar.gz") as archive:
        kept = {name[len("listops_smoke/"):] for name in archive.getnames()}
    expect(kept == {"suite.textproto", "plan/cell.textproto", "ends/record.textproto", "ends/record.json", "ends/curve.jsonl",
                    "ends/accuracy.npy", "saves/curve.jsonl"}, f"kept: {kept}")


def test_kills_after_mps(module, folder):
    place = Place(folder, LEFT='["stays"]', LRA_DATA=str(folder / "data"))
    share_card, limits = module.share_card, (module.RUN_SAVING_SECONDS, module.CLOSING_SECONDS)
    module.RUN_SAVING_SECONDS, module.CLOSING_SECONDS = 0.3, 1

    def with_little_time_left(report, options):
        pipes = share_card(report, options)
        report.deadline = time.monotonic() + 7.3  # so the run has six seconds
        return pipes

    module.share_card = with_little_time_left
    place.call(module, "cells", "--device", "cuda", "--jobs", "1", "--suites", "gpu_cells")
    module.share_card, (module.RUN_SAVING_SECONDS, module.CLOSING_SECONDS) = share_card, limits
    outcome = stages_of(place.out)["gpu_cells: stays"]["outcome"]
    expect(outcome.endswith("but had not ended 0 s later"), outcome)
    expect((place.state / "mps").read_text() == "quit -t 5, the run is there\n", (place.state / "mps").read_text())
    expect(ends_soon(place.state), "a run that does not end goes on")
    # Where runs are left, they are not thrown away.
    expect(len(files_of(place.tmp)) == 1, f"in the temporary folder: {files_of(place.tmp)}")


def test_kills_again(module, folder):
    place = Place(folder, TRAINS="1")
    os.environ.update(place.variables)
    report = module.Report(place.out, time.monotonic() + 600, patience=10)
    options = types.SimpleNamespace(lra=place.words[1], work=place.work)
    killed = sys.modules["gpu_runs"].kill_training(report, options, 30, 3)
    del os.environ["TRAINS"]
    expect(killed and report.stages[-1]["outcome"] == "ok", f"a training that had ended is not begun again: {report.stages}")
    expect(files_of(killed[1]) == ["checkpoint"], f"left of the one that had ended: {files_of(killed[1])}")


def main():
    root = os.path.abspath(sys.argv[1])
    module = load(root)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        test_stopped_steps(module, folder / "steps")
        test_order_of_steps(module, folder / "order")
        test_stopped_cells(root, folder / "cells")
        test_kills_after_mps(module, folder / "mps")
        test_kills_again(module, folder / "kills")
    print("stopped stages leave what they have measured, and nothing that computes")


if __name__ == "__main__":
    main()
