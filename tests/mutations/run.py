#!/usr/bin/env python3
"""Plants one bug at a time and asks the conformance suite to find it, or the unit tests that the bug names.

    tests/mutations/run.py                 all of mutations.toml -> docs/mutations.md
    tests/mutations/run.py NAME...         some, nothing written
    tests/mutations/run.py --check         every bug still fits its source; nothing is built

Works on a clone under build/mutants, so the tree is never touched. A bug counts as caught when a
promise of the suite fails (golden values and unit tests are not asked), as invalid when it does
not compile. A bug outside the models names the program whose tests must find it (`program`) instead
of attentions. One that `needs` what this processor lacks (a flag of /proc/cpuinfo) keeps the verdict of the page. Exit
code 1 when one survives.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLONE = ROOT / "build" / "mutants"
PAGE = ROOT / "docs" / "mutations.md"
LIST = pathlib.Path(__file__).with_name("mutations.toml")
TESTS = {"attentions": "models/models_conformance_test", "blocks": "models/models_block_conformance_test"}


def load():
    return tomllib.loads(LIST.read_text())["mutation"]


def plant(mutation, root):
    """Returns the source's text with the bug in it."""
    text = (root / mutation["file"]).read_text()
    count = text.count(mutation["find"])
    if count != 1:
        raise SystemExit(f"{mutation['name']}: {mutation['file']} holds {count} times, not once:\n{mutation['find']}")
    if mutation["find"] == mutation["replace"]:
        raise SystemExit(f"{mutation['name']}: replaces nothing")
    return text.replace(mutation["find"], mutation["replace"])


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def program_of(mutation):
    return mutation.get("program", TESTS["blocks" if "blocks" in mutation else "attentions"])


def prepare(programs):
    if not CLONE.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(CLONE)], check=True)
    head = subprocess.check_output(["git", "-C", str(ROOT), "rev-parse", "HEAD"], text=True).strip()
    subprocess.run(["git", "-C", str(CLONE), "fetch", "-q", str(ROOT), head], check=True)
    subprocess.run(["git", "-C", str(CLONE), "checkout", "-qf", head], check=True)
    third_party = CLONE / "third_party"
    if (ROOT / "third_party").exists() and not third_party.is_symlink():
        third_party.symlink_to(ROOT / "third_party")
    os.environ.update(CCACHE_BASEDIR=str(CLONE), CCACHE_NOHASHDIR="1")
    configured = run(["cmake", "--preset", "release"], cwd=CLONE)
    if configured.returncode or build(*programs).returncode:
        raise SystemExit("the tree without bugs does not build:\n" + configured.stdout)


def build(*programs):
    return run(["ninja", "-C", "build/release", *programs], cwd=CLONE)


def failed_tests(program):
    """Names of the tests of a program that fail."""
    result = run([str(CLONE / "build/release" / program)], timeout=600)
    # "[  FAILED  ] Suite.Test (3 ms)" or "[  FAILED  ] Suite.Test/0, where GetParam() = ..."
    names = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([\w./]+)(?: \(|, where)", result.stdout, re.M)))
    return names if names or result.returncode == 0 else ["crash"]


def failures(kind, name):
    """Ids of the promises that fail; name: of a registered attention or block (kind), or of a test that runs the
    suite with options."""
    suite = {"attentions": "RegisteredAttentionTest", "blocks": "RegisteredBlockTest"}[kind]
    tests = name if "." in name else f"Registry/{suite}.KeepsThePromisesOf*/{name}"
    program = CLONE / "build/release" / TESTS[kind]
    result = run([str(program), f"--gtest_filter={tests}"], timeout=600)
    if result.returncode == 0:
        return []
    ids = re.findall(r"^(?:\w+ )?([A-Z]\w*): \S+ > \S+ \(", result.stdout, re.M)
    return sorted(set(ids)) or ["crash"]


def attack(mutation):
    source = CLONE / mutation["file"]
    clean = source.read_text()
    source.write_text(plant(mutation, CLONE))
    try:
        if build(program_of(mutation)).returncode:
            return "invalid"
        if "program" in mutation:
            return ", ".join(failed_tests(mutation["program"])) or "survived"
        for kind in TESTS:
            for name in mutation.get(kind, []):
                ids = failures(kind, name)
                if ids:
                    return f"{name}: {', '.join(ids)}"
        return "survived"
    finally:
        source.write_text(clean)


def processor_has(flag):
    return flag in pathlib.Path("/proc/cpuinfo").read_text().split()


def verdict_of_page(mutation):
    start = f"| {mutation['what']} | `{mutation['file']}` | "
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith(start)]
    if not rows:
        raise SystemExit(f"{mutation['name']}: needs {mutation['needs']}, which this processor lacks, and {PAGE} has no verdict")
    return rows[0][len(start) : -len(" |")]


def verdict(mutation):
    return attack(mutation) if processor_has(mutation.get("needs", "fpu")) else verdict_of_page(mutation)


def report(results):
    lines = [
        "# Planted bugs",
        "",
        "Each line is a bug that was planted in the sources, alone, and what the conformance suite (`lra check",
        "NAME`) said; of a bug outside the models, which unit tests failed. Made by `tests/mutations/run.py` from",
        "`tests/mutations/mutations.toml`; the promises' names are in `models/conformance/conformance.h`.",
        "",
        "| planted bug | source | found by |",
        "|---|---|---|",
    ]
    for mutation, found in results:
        lines.append(f"| {mutation['what']} | `{mutation['file']}` | {found} |")
    caught = sum(found not in ("survived", "invalid") for _, found in results)
    lines += ["", f"{caught} of {len(results)} caught.", ""]
    PAGE.write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    mutations = load()
    names = [m["name"] for m in mutations]
    unknown = set(arguments.names) - set(names)
    if unknown or len(set(names)) != len(names):
        raise SystemExit(f"no such mutation, or one twice: {unknown or names}")
    for mutation in mutations:
        plant(mutation, ROOT)
    if arguments.check:
        print(f"{len(mutations)} planted bugs fit their sources")
        return 0
    chosen = [m for m in mutations if not arguments.names or m["name"] in arguments.names]
    prepare({program_of(m) for m in chosen})
    results = []
    for mutation in chosen:
        start = time.monotonic()
        results.append((mutation, verdict(mutation)))
        print(f"{mutation['name']}: {results[-1][1]} ({time.monotonic() - start:.0f} s)", flush=True)
    if not arguments.names:
        report(results)
    return int(any(found in ("survived", "invalid") for _, found in results))


if __name__ == "__main__":
    sys.exit(main())
