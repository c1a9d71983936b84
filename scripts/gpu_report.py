"""Commands that are run for a limited time each, and the report of what became of them (scripts/gpu_check)."""
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

TAIL_LINES = 30
# What a stage that is asked to stop may take.
SAVING_SECONDS = 20


def signal_group(process, number):
    """Signals a process and those children that are in its group, as those of `lra bench` are."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass  # all of them have ended


class Report:
    """The stages so far, on disk after each one. Each may take `patience` times as long as is said."""

    def __init__(self, out, deadline, patience=1):
        self.out, self.deadline, self.patience, self.stages = pathlib.Path(out), deadline, patience, []
        self.lock = threading.Lock()
        self.running, self.unended, self.is_stopping = set(), [], False
        self.out.mkdir(parents=True, exist_ok=True)

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def stop(self):
        """Asks all that runs to stop, and begins nothing more. A signal's handler may call it, so it takes no lock."""
        self.is_stopping, self.deadline = True, -math.inf
        for process in list(self.running):
            signal_group(process, signal.SIGTERM)

    def stop_at_signals(self):
        def end_early(*_):
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)  # the second one ends this program at once
            self.stop()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end_early)

    def run(self, name, command, most_seconds, environment=None, saving_seconds=SAVING_SECONDS, kills=True):
        """Runs a command for at most so long; returns whether it ended well. What does not save in time is killed, or else is
        among `unended`."""
        limit = min(self.patience * most_seconds, self.seconds_left())
        if limit <= 0:
            return self.add(name, command, "not begun: no time is left", 0, "")
        print(f"== {name}: {' '.join(command)}", file=sys.stderr)
        start = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       env={**os.environ, **(environment or {})}, start_new_session=True)
        except OSError as error:
            return self.add(name, command, f"failed: {error}", 0, "")
        self.running.add(process)
        if self.is_stopping:
            signal_group(process, signal.SIGTERM)  # the signal came while it began
        outcome, output = self.wait_for(process, limit, saving_seconds, kills)
        self.running.discard(process)
        return self.add(name, command, outcome, time.monotonic() - start, output)

    def wait_for(self, process, limit_seconds, saving_seconds, kills):
        """What became of the process, and what it printed. At the limit it is asked to stop, so that training is saved."""
        try:
            output = process.communicate(timeout=limit_seconds)[0]
            if process.returncode == 0:
                return "ok", output
            return "stopped by a signal" if self.is_stopping else f"failed with exit code {process.returncode}", output
        except subprocess.TimeoutExpired:
            signal_group(process, signal.SIGTERM)
        outcome = f"stopped after {limit_seconds:.0f} s"
        try:
            output = process.communicate(timeout=saving_seconds)[0]
        except subprocess.TimeoutExpired:
            if not kills:
                self.unended.append(process)
                return f"{outcome}, but had not ended {saving_seconds:.0f} s later", ""
            signal_group(process, signal.SIGKILL)
            return outcome, process.communicate()[0]
        if kills:
            signal_group(process, signal.SIGKILL)  # children that took no notice would compute beside the next stage
        return outcome, output

    def kill_unended(self):
        """What `run` may not kill, at a time when it may be."""
        for process in self.unended:
            signal_group(process, signal.SIGKILL)
            process.communicate()
        self.unended = []

    def add_to_last(self, **parts):
        """What report.json has of the stage that was added last: rows of step times, profiles."""
        with self.lock:
            self.stages[-1].update(parts)
            self.write()

    def add(self, name, command, outcome, seconds, output):
        tail = "\n".join(output.splitlines()[-TAIL_LINES:])
        with self.lock:
            self.stages.append({"stage": name, "command": " ".join(command), "outcome": outcome,
                                "seconds": round(seconds, 1), "output": tail})
            self.write()
        print(f"   {name}: {outcome}, {seconds:.0f} s", file=sys.stderr)
        return outcome == "ok"

    def write(self):
        (self.out / "report.json").write_text(json.dumps(self.stages, indent=1) + "\n")
        lines = ["| stage | outcome | seconds |", "|---|---|--:|"]
        lines += [f"| {s['stage']} | {s['outcome']} | {s['seconds']} |" for s in self.stages]
        for s in self.stages:
            lines += ["", f"## {s['stage']}", "", "```", "$ " + s["command"], s["output"], "```"]
        (self.out / "report.md").write_text("\n".join(lines) + "\n")

    def has_failed(self):
        return any(s["outcome"] != "ok" for s in self.stages)
