#!/usr/bin/env python3
"""Whether a suite that is killed again and again ends in the same records as one that is left alone.

usage: benchmarks/killed_suite.py LRA SUITE --out DIR [--kills 10] [--pause 5,60] [--seed 0] [--kept RECORDS] [--log FILE]

`lra run SUITE` into DIR/killed gets `kill -9` at random moments, between the two seconds of --pause after it was begun,
and is begun again at once. Then the suite runs once more, into DIR/whole, and is left alone. Compared are every run's
checkpoints, predictions and results (as in benchmarks/equal_results.py), and what `lra table`, `lra ablate` and
`lra report` make of both folders but for the cost. Begun again, this program goes on where it was: DIR/kills.jsonl has a
line for each kill. Exit code 1: something differs, which is named, or the suite ended before its last kill.

--kept docs/records/SUITE compares with the records of an earlier day, in DIR/kept, instead of training the suite a second
time: of each run every field that `lra diff` compares (as in benchmarks/trained_again.py), curves among them, and the scores
of all examples; tables and effects without the builds that made them; not checkpoints, which are not kept, nor the report,
which has the commit and machine of its runs.

--log FILE keeps the evidence, a JSON object a line: the suite with program and machine; each kill, with its time and the
step of every run that had begun and not ended; for each run the SHA-256 of its results in either folder, which cover the
tensors of its checkpoints (with --kept, the scores of its examples), and for each page that of its bytes without the cost;
the verdict. It is written when all is
compared, also with --only compare. The project keeps its logs in docs/records/killed.
"""
import argparse
import csv
import hashlib
import io
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from equal_results import differences, record_facts, tensors
from trained_again import compare as differing_fields

COSTS = ("core_hours", "is_cpu_time", "device_hours", "slowest_over_fastest", "joules")
EQUAL = ["equal, bit for bit", "equal in results, curves, scores, tables and effects"]
PAGES = [("table", form) for form in ("md", "csv", "tex", "json", "html")]
PAGES += [("ablate", form) for form in ("md", "csv", "json")]
PAGES += [("report", "html")]


def folders(args):
    """The undisturbed suite's and the killed one's."""
    return "kept" if args.kept else "whole", "killed"


def suite_command(args, name):
    return [args.program, "run", args.suite, "--quiet", "--out", args.out / name]


def kills_of(args):
    path = args.out / "kills.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def last_step(folder):
    """Of a run's curve; 0 before its first point."""
    curve = folder / "curve.jsonl"
    lines = curve.read_text().split("\n")[:-1] if curve.exists() else []  # behind the last newline a line may be cut off
    return json.loads(lines[-1])["step"] if lines else 0


def begun(args):
    """The steps of the runs that have begun and not ended, by name; read without a process of lra, to kill and begin at once."""
    killed = args.out / "killed"
    folders = {path.parent for name in ("curve.jsonl", "checkpoint") for path in killed.glob(f"*/{name}")}
    return {folder.name: last_step(folder) for folder in sorted(folders) if not (folder / "record.json").exists()}


def kill_once(args, count, wait):
    """Begins the suite and kills it. False if it ended before."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in suite_command(args, "killed")], stdout=subprocess.DEVNULL)
    try:
        process.wait(timeout=wait)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        return False
    kill = {"kill": count, "unix_seconds": round(time.time()), "after_seconds": round(time.monotonic() - start, 1),
            "finished": len(runs(args.out / "killed")), "begun": begun(args)}
    with open(args.out / "kills.jsonl", "a") as file:
        file.write(json.dumps(kill) + "\n")
    print(f"kill {count} of {args.kills} after {kill['after_seconds']} s, {kill['finished']} runs finished, "
          f"{len(kill['begun'])} begun", flush=True)
    return True


def train_killed(args):
    """Returns how often the suite was killed; the rest of it is trained undisturbed."""
    count = len(kills_of(args))
    draw = random.Random(args.seed)
    waits = [draw.uniform(*args.pause) for _ in range(args.kills)]
    for wait in waits[count:]:
        if not kill_once(args, count + 1, wait):
            break
        count += 1
    train_whole(args, "killed")
    return count


def train_whole(args, name):
    """A suite with runs that diverged ends with exit code 1 and a record of each: what counts is that all are there."""
    start = time.monotonic()
    subprocess.run([str(part) for part in suite_command(args, name)], stdout=subprocess.DEVNULL)
    print(f"{name}: {len(runs(args.out / name))} runs finished, {time.monotonic() - start:.0f} s since it was last begun",
          flush=True)


def runs(folder):
    return sorted(path.parent.name for path in folder.glob("*-s*/record.textproto"))


def without_cost_columns(section):
    """A leaderboard in HTML without its last columns, which are of cost, and without the cost behind its cells."""
    columns = section.count('data-column="cost"')
    section = re.sub(r'<th scope="col" data-column="cost">.*?</th>', "", section)
    section = re.sub(r"(<td[^>]*>((?!</td>).)*</td>){%d}</tr>" % columns, "</tr>", section)
    section = re.sub(r"<li>How many times as much as its fastest run .*?</li>\n", "", section)
    return re.sub(r' data-cost="[^"]*"', "", section)


def html_without_cost(page):
    """Also without what the data of a report says of each run's time and memory."""
    page = re.sub(r'<section class="leaderboard".*?</section>', lambda found: without_cost_columns(found[0]), page,
                  flags=re.DOTALL)
    found = re.search(r'(?<=id="data">).*?(?=</script>)', page, re.DOTALL)
    if not found:
        return page
    data = json.loads(found[0])
    for run in data["runs"]:
        del run["efficiency"]
    return page[:found.start()] + json.dumps(data) + page[found.end():]


def without_cost(page, form):
    """A page without what the runs took, which no two runs have in common."""
    if form == "json":
        return re.sub(r'"(%s)": (?:[0-9.e+-]+|true|false)' % "|".join(COSTS), r'"\1": ', page)
    if form == "csv":
        rows = list(csv.reader(io.StringIO(page)))
        kept = [i for i, name in enumerate(rows[0]) if name not in COSTS]
        return json.dumps([[row[i] for i in kept] for row in rows])
    return html_without_cost(page) if form == "html" else page


def made_page(args, name, command, form):
    """What `lra COMMAND` makes of a folder, with its exit code; without the cost, and with one name for both folders. A
    report lies where it has no links to its runs."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / f"page.{form}"
        flags = [] if command == "report" else ["--format", form]
        done = subprocess.run([str(args.program), command, name, *flags, "--out", str(out), "--quiet"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=args.out)
        page = without_cost(out.read_text(), form) if out.exists() and out.stat().st_size else ""
    if args.kept:  # made by another build, and perhaps on another machine
        page = re.sub(r"lra [0-9.]+ \([0-9a-f]+\)", "lra", page)
        page = re.sub(r"Trained on [^\n\"<]*", "", page)
    return f"exit code {done.returncode}\n" + re.sub("|".join(folders(args)), "SUITE", page) if page else ""


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def results_digest(folder):
    """Of the facts of a run's record and of the tensors of all its checkpoints."""
    checkpoints = {str(path.relative_to(folder)): {name: [kind, shape, hashlib.sha256(data).hexdigest()]
                                                   for name, (kind, shape, data) in tensors(path).items()}
                   for path in folder.glob("checkpoint/step-*/*.safetensors")}
    return sha256(json.dumps([record_facts(folder), checkpoints], sort_keys=True))


def place_kept(args):
    """Records of an earlier day where the undisturbed suite would be, and their baselines beside the killed one's runs."""
    shutil.rmtree(args.out / "kept", ignore_errors=True)
    shutil.copytree(args.kept, args.out / "kept")
    if (args.kept / "baselines").exists():
        shutil.copytree(args.kept / "baselines", args.out / "killed" / "baselines", dirs_exist_ok=True)


def scores_digest(folder, names):
    """Of the scores of all examples."""
    return sha256(json.dumps([[name, hashlib.sha256((folder / name).read_bytes()).hexdigest()] for name in names]))


def compare_runs(args, name):
    """What differs between the two runs of one name, as sentences, and their digests."""
    whole, killed = (args.out / folder / name for folder in folders(args))
    if not args.kept:
        return differences(whole, killed), [results_digest(whole), results_digest(killed)]
    scores = sorted(path.name for path in whole.glob("*.npy"))
    digests = [scores_digest(whole, scores), scores_digest(killed, scores)]
    found = differing_fields(args.program, whole, killed)
    return found + ["scores of examples"] * (digests[0] != digests[1]), digests


def compare(args):
    """What differs, as sentences, and lines of the log."""
    names, killed_names = (runs(args.out / folder) for folder in folders(args))
    if not names or names != killed_names:
        return [f"runs: {names} and {killed_names}"], []
    found, lines = [], []
    for name in names:
        texts, digests = compare_runs(args, name)
        found += [f"{name}: {text}" for text in texts]
        lines.append({"run": name, **dict(zip(folders(args), digests))})
    for command, form in PAGES[:-1] if args.kept else PAGES:
        whole, killed = (made_page(args, folder, command, form) for folder in folders(args))
        if not whole or whole != killed:
            found.append(f"lra {command}, {form}")
        lines.append({"page": f"lra {command}, {form}", **dict(zip(folders(args), (sha256(whole), sha256(killed))))})
    print(f"{len(names)} runs and {len(lines) - len(names)} pages compared")
    return found, lines


def write_log(args, found, lines):
    head = {"suite": args.suite, "pause_seconds": args.pause, "seed": args.seed}
    for name in runs(args.out / "killed")[:1]:
        record = json.loads((args.out / "killed" / name / "record.json").read_text())
        head.update({field: record.get(field) for field in ("versions", "machine")})
    if args.kept:
        head["kept"] = args.kept.name
    kills = kills_of(args)
    verdict = {"verdict": "different" if found else EQUAL[bool(args.kept)], "kills": len(kills),
               "runs": sum("run" in line for line in lines), "pages": sum("page" in line for line in lines)}
    if found:
        verdict["found"] = found
    args.log.parent.mkdir(parents=True, exist_ok=True)
    args.log.write_text("".join(json.dumps(line) + "\n" for line in [head, *kills, *lines, verdict]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("suite")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=lambda text: tuple(float(part) for part in text.split(",")), default=(5, 60))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["killed", "whole", "compare"])
    parser.add_argument("--kept", type=pathlib.Path, help="records to compare with, instead of a second suite")
    parser.add_argument("--log", type=pathlib.Path)
    args = parser.parse_args()
    args.program = args.program.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.only in (None, "killed"):
        count = train_killed(args)
        if count < args.kills:
            print(f"the suite ended after {count} kills of {args.kills}: a shorter --pause would catch it")
            return 1
    if args.only in (None, "whole") and not args.kept:
        train_whole(args, "whole")
    if args.only not in (None, "compare"):
        return 0
    if args.kept:
        place_kept(args)
    found, lines = compare(args)
    if args.log:
        write_log(args, found, lines)
    print("\n".join(found) if found else EQUAL[bool(args.kept)])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
