#!/usr/bin/env python3
"""Checks that the program takes the commands that the documentation shows.

usage: documented_commands_test.py ROOT LRA     self-test, which plants one mistake of each kind and demands that it is found; then
                                                README.md and docs; exit code 1 names page and line

Of each `lra ...` in a shell listing or between backquotes, the subcommands and flags must be in its help. Of `lra train`,
`lra config` and `lra init`, the fields of --set must be some that `lra config` knows for that task and attention, but for what
a tutorial adds to the program. `lra run` must name a suite. Nothing is run.
"""
import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT_PAGES = ("README.md", "CONTRIBUTING.md")
SEPARATORS = {"&&", "||", ";", "|", "&", "(", ")", "<", ">", ">>", "2>", "if", "then", "do", "fi", "done", "!"}
# The flags of these commands make one configuration, which `lra config` resolves.
CONFIGURED = ("train", "config", "init")
CONFIG_FLAGS = ("--task", "--attention", "--protocol", "--preset", "--set")


def spans(line, number):
    """(line, command line) of what stands between backquotes."""
    for found in re.findall(r"`([^`]*\blra [^`]+)`", line):
        yield number, found


def listings(page):
    """(line, command line) of each command in a shell listing, where continued lines are one, and of spans in the text."""
    lines = open(page, encoding="utf-8").read().split("\n")
    inside, fenced, number = False, False, 0
    while number < len(lines):
        line = lines[number]
        first = number + 1
        number += 1
        if line.lstrip().startswith("```"):
            fenced = not fenced
            inside = fenced and line.strip() in ("```sh", "```console")
            continue
        if not fenced:
            yield from spans(line, first)
        if not inside:
            continue
        while line.endswith("\\") and number < len(lines):
            line = line[:-1] + lines[number]
            number += 1
        yield first, line


def commands(line, program):
    """The words of each command of a line that starts the program, without `lra`; also of one that another starts."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    found, words = [], []
    for word in list(lexer) + [";"]:
        if word in SEPARATORS or re.fullmatch(r"[();<>|&]+", word):
            found.append(words)
            words = []
        else:
            words.append(word)
    for words in found:
        while words and re.fullmatch(r"[A-Z_]+=.*|\$", words[0]):  # variables, and a prompt
            words = words[1:]
        names = [index for index, word in enumerate(words) if os.path.basename(word) == "lra"]
        if not names:
            continue
        after = words[names[0] + 1:]
        if names[0] == 0 or after and after[0] in program.help(())[0]:
            yield after


class Program:
    def __init__(self, lra, root):
        self.lra = lra
        self.suites = os.path.join(root, "configs", "suites")

    def run(self, *words):
        return subprocess.run([self.lra, *words], capture_output=True, text=True, check=False)

    @functools.lru_cache(maxsize=None)
    def help(self, path):
        """(subcommands, flags) of a command."""
        text = self.run(*path, "--help").stdout
        below = text.split("Subcommands:\n", 1)[1].split("\n\n", 1)[0] if "Subcommands:\n" in text else ""
        subcommands = set(re.findall(r"^  ([a-z]\S*)", below, re.M))
        return subcommands, set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", text.split("\nExamples:")[0]))

    def has_suite(self, name):
        return os.path.exists(os.path.join(self.suites, name + ".textproto"))

    @functools.lru_cache(maxsize=None)
    def config_fault(self, flags):
        """Why these flags of `lra config` are refused, or None."""
        done = self.run("config", *flags)
        return None if done.returncode == 0 else done.stderr.strip().split("\n")[0]


def config_flags(words):
    """The flags that make a configuration, or None where a list or a variable makes several."""
    flags, name = [], ""
    for word in words:
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            if not equals:
                continue
        else:
            value = word
        if name not in CONFIG_FLAGS:
            continue
        if name in ("--task", "--attention") and "," in value or re.search(r"[$<…]|^[A-Z]+$", value):
            return None
        flags += [name, value]
        name = name if name == "--set" else ""  # the one that takes several values
    return tuple(flags)


def fault(program, words):
    """What is wrong with `lra WORDS`, or None."""
    path = ()
    for word in words:
        subcommands, flags = program.help(path)
        if not subcommands:
            break
        if word.startswith("-"):
            continue
        if word not in subcommands and not re.search(r"[A-Z<$…]|\.\.\.", word):
            return f"'lra {' '.join(path)}' has no command '{word}'".replace("lra '", "lra'")
        if word not in subcommands:
            return None  # TASK, RUN/...: which command it is, the reader says
        path += (word,)
    _, flags = program.help(path)
    if path == ("run",) and re.fullmatch(r"[a-z0-9_]+", (words + [""])[1]) and not program.has_suite(words[1]):
        return f"there is no suite '{words[1]}'"
    for word in words[len(path):]:
        name = word.split("=")[0]
        if re.fullmatch(r"--?[a-z][a-z0-9-]*", name) and name not in flags:
            return f"'lra {' '.join(path)}' has no flag '{name}'"
    if path and path[0] in CONFIGURED and "--config" not in words:
        made = config_flags(words)
        if made and "--task" in made:
            return program.config_fault(made)
    return None


def is_made_there(page, wrong):
    """Whether a tutorial makes the task, attention or block that the program does not know yet."""
    unknown = re.search(r'unknown (?:task|attention|block) "(\w+)"', wrong)
    if not unknown or not os.path.basename(page).startswith("adding_"):
        return False
    return f'"{unknown[1]}"' in open(page, encoding="utf-8").read()


def check(pages, program):
    """The number of commands of the pages, and the faults."""
    count, faults = 0, []
    for page in pages:
        for number, line in listings(page):
            try:
                found = list(commands(line.split(" #")[0], program))
            except ValueError as error:
                faults.append(f"{page}:{number}: {error}: {line}")
                continue
            for words in found:
                count += 1
                wrong = fault(program, words)
                if wrong and not is_made_there(page, wrong):
                    faults.append(f"{page}:{number}: {wrong}: lra {' '.join(words)}")
    return count, faults


# Each stands in a listing, but for those between backquotes.
MISTAKES = (
    "lra run listops_smok",
    "lra --quiet trian",
    "podman run -v x:y lra data list --jsn",
    "lra train --task listops --attention linear --set model.width=64 model.widht=3",
    "See `lra data prepair listops`.",
    "lra rum listops_smoke",
    "lra data prepair listops",
    "lra run listops_smoke --data data",
    "cd x && FOO=1 lra train --task listops --atention linear",
    "lra train --task listops --attention linear \\\n  --set model.widht=3",
    "lra train --task listopps --attention linear",
)
RIGHT = (
    "lra run listops_smoke --out runs/x   # --data is for others",
    "lra train --task listops,text --attention linear --set model.width=64 | tail -1",
    "lra train --task listops --attention linear --set train.steps=10 --seeds 0-2",
    "lra data prepare TASK --seed 3",
    "See `lra data prepare listops`, and lra nothing.",
    "lra --quiet train --task listops --attention linear",
)


def self_test(program):
    with tempfile.TemporaryDirectory() as folder:
        for command in MISTAKES + RIGHT:
            page = os.path.join(folder, "page.md")
            with open(page, "w", encoding="utf-8") as file:
                shown = command if "`" in command else f"```sh\npodman build -t lra .\n{command}\n```"
                file.write(f"Text: lra nothing --no\n\n{shown}\n\n```text\nlra nothing\n```\n")
            count, faults = check([page], program)
            if count != 1 or len(faults) != (command in MISTAKES):
                sys.exit(f"FAILED: {count} commands, {faults} of: {command}")
    print(f"ok: {len(MISTAKES)} planted mistakes found")


def pages_of(root):
    pages = [os.path.join(root, page) for page in ROOT_PAGES]
    for folder, _, names in os.walk(os.path.join(root, "docs")):
        if "records" not in os.path.relpath(folder, root).split(os.sep):
            pages += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".md")]
    return pages


def main():
    root, lra = sys.argv[1:]
    program = Program(os.path.abspath(lra), root)
    self_test(program)
    count, faults = check(pages_of(root), program)
    print("\n".join(faults), end="\n" if faults else "")
    print(f"{count} commands, {len(faults)} faults")
    return 1 if faults or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
