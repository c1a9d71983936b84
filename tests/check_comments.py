#!/usr/bin/env python3
"""Checks what comments and pages say against the tree, by rules that a program can decide.

usage: check_comments.py ROOT         self-test, then the check of ROOT; exit code 1 names file, line and rule
       check_comments.py --self-test  plants one violation of each rule and demands that it is found

Rules:
  files     A path that begins with a folder of the tree must exist. A source may be named without its ending, and
            `*`, `{a,b}` and `<name>` stand for any text that at least one file has. Pages may name the files of a
            tutorial where a reader would put them. In a C++ source, a name such as x.h or rooms/x.cc must be that of a
            file beside it or a path from the root; paths of other projects begin with a folder that the tree lacks.
  links     A link between pages must lead to a file, and its #anchor to a heading there.
  rulers    A heading inside a source is one line, `// --- Title ---`; a line of dashes alone is a remnant.
  width     A comment of a C++ or proto source ends by column 100, unless it is one long word such as an address.
  fragment  A comment does not begin with "Of" or "As": such openings lean on a heading that is not there.
  end       A comment of several lines that begins with a capital ends with a full stop, a colon or a question mark,
            or with an example that is set off by two spaces.
  json      Of the code: a C++ source that is no test makes text of JSON by JsonText() (lra/json_text.h), since dump()
            throws at bytes that are not UTF-8, which names of files may hold.
  columns   Also of the code: text is aligned by PadRight() and its like (lra/text_columns.h), since the width of %8s
            counts bytes, not characters.
"""
import glob
import os
import re
import sys
import tempfile

# Sources by how their comments begin.
SLASHES = (".h", ".cc", ".h.in", ".proto")
HASHES = (".sh", ".py", ".cmake", ".textproto", ".toml", "CMakeLists.txt")
ENDINGS = ("", ".h", ".cc", ".proto", ".sh", ".py", ".md", ".textproto")
# Words that look like a path: lists of splits, folders of raw archives, tags of TensorBoard, units.
NOT_PATHS = re.compile(r"(train|eval)/(validation|val|test|eval|neg|pos|unsup|loss|accuracy)\b|examples/s\b")

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\''
                   r'|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)', re.S)


def made(root):
    """Folders at the root that set-up, builds and runs make: those of .gitignore; nothing in them is part of the tree."""
    with open(os.path.join(root, ".gitignore"), encoding="utf-8") as file:
        return {line.strip().strip("/") for line in file if line.startswith("/")} | {"shared"}


def sources(root):
    """Every file of the tree that has comments to check, as paths from the root."""
    outside = made(root)
    for folder, folders, files in os.walk(root):
        at_root = os.path.samefile(folder, root)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and not (at_root and f in outside))
        here = os.path.relpath(folder, root)
        if here.startswith(("docs/records", "tests/fuzz/corpus")):
            continue
        for file in sorted(files):
            if file.endswith(SLASHES + HASHES + (".md",)) or here == "scripts":
                yield os.path.normpath(os.path.join(here, file))


def comments(path, text):
    """(line, text, stands alone) of every comment line, or of every line of a page."""
    lines = text.split("\n")
    if path.endswith(".md"):
        return [(n, line, False) for n, line in enumerate(lines, 1)]
    if not path.endswith(SLASHES):
        found = [(n, re.search(r"(?:^|\s)#(?!!)(.*)", line), line) for n, line in enumerate(lines, 1)]
        return [(n, m.group(1), line.lstrip().startswith("#")) for n, m, line in found if m]
    result = []
    for match in TOKEN.finditer(text):
        body = match.group("line") or match.group("block")
        if body:
            first = text.count("\n", 0, match.start()) + 1
            for n, line in enumerate(body.split("\n"), first):
                result.append((n, line[2:] if n == first else line, not lines[n - 1][:lines[n - 1].find("//")].strip()))
    return result


def blocks(found):
    """Runs of comments that stand alone on consecutive lines: lists of (line, text)."""
    block = []
    for number, text, alone in found + [(-1, "", False)]:
        alone = alone and not re.match(r"\s*(clang-format o|NOLINT)", text)  # a word to a tool
        if block and (not alone or number != block[-1][0] + 1):
            yield block
            block = []
        if alone:
            block.append((number, text))


class Tree:
    def __init__(self, root):
        self.root, outside = root, made(root)
        self.folders = [f for f in sorted(os.listdir(root))
                        if os.path.isdir(os.path.join(root, f)) and f[0] != "." and f not in outside]
        self.word = re.compile(r"(?<![\w./<>{}*-])(?:%s)/[\w.*<>{},/+-]*" % "|".join(map(re.escape, self.folders)))
        self.all_folders = {os.path.basename(f.rstrip("/")) for f in self.folders for f in
                            [f] + glob.glob(os.path.join(root, f, "*/"))}
        examples = glob.glob(os.path.join(root, "examples/*/*"))
        self.tutorial_files = {os.path.basename(f) for f in examples}

    def stray_sources(self, path, text):
        """Names of headers and sources in a comment of `path` that stand for no file."""
        for word in re.findall(r"(?<![\w./<>{}*,-])([\w./-]*\w\.(?:h|cc))\b(?!\w|\.\w)", text):
            first, slash, _ = word.partition("/")
            if (not slash or first in self.all_folders) and first not in self.folders:
                if not os.path.exists(os.path.join(self.root, os.path.dirname(path), word)):
                    yield word

    def exists(self, word, is_page):
        word = re.sub(r"<\w+>", "*", word.rstrip(".,/")).replace(".pb.h", ".proto").replace(".pb.cc", ".proto")
        if is_page and os.path.basename(word) in self.tutorial_files:
            return True
        return any(glob.glob(os.path.join(self.root, one + ending)) for one in alternatives(word) for ending in ENDINGS)


def alternatives(word):
    """a{b,c} as ab and ac."""
    match = re.search(r"\{([^{}]*)\}", word)
    if not match:
        return [word]
    return [one for middle in match.group(1).split(",")
            for one in alternatives(word[:match.start()] + middle + word[match.end():])]


def anchors(path):
    """The anchors that GitHub makes of a page's headings."""
    with open(path, encoding="utf-8") as page:
        headings = re.findall(r"^#+ +(.*)$", page.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def check_names(tree, path, found):
    is_page = path.endswith(".md")
    for number, text, _ in found:
        for word in tree.word.findall(text):
            if not NOT_PATHS.match(word) and not tree.exists(word, is_page):
                yield number, f"files: {word} does not exist"
        for word in tree.stray_sources(path, text) if path.endswith(SLASHES) else []:
            yield number, f"files: {word} is neither beside this file nor a path from the root"
        for link in re.findall(r"\]\(([^)\s]+)\)", text) if is_page else []:
            if not re.match(r"\w+:", link):
                file, _, anchor = link.partition("#")
                target = os.path.join(tree.root, os.path.dirname(path), file) if file else os.path.join(tree.root, path)
                if not os.path.exists(target):
                    yield number, f"links: {link} leads nowhere"
                elif anchor and anchor not in anchors(target):
                    yield number, f"links: {link}: there is no such heading"


def check_form(path, found, lines):
    if path.endswith(".md"):
        return
    for number, text, alone in found:
        body = text.strip()
        if alone and (re.fullmatch(r"[-=*]{3,}", body) or (body.startswith("--- ") and not body.endswith(" ---"))):
            yield number, "rulers: write the heading on one line, --- Title ---"
        if path.endswith(SLASHES) and len(lines[number - 1]) > 100 and " " in body:
            yield number, f"width: {len(lines[number - 1])} columns, at most 100"
    for block in blocks(found):
        first, last = block[0][1].strip(), block[-1][1]
        if re.match(r"(Of|As) ", first):
            yield block[0][0], "fragment: say what it is; do not begin with \"" + first.split()[0] + "\""
        has_usage = any(line.strip().startswith("usage:") for _, line in block)
        is_prose = len(block) > 1 and re.match(r"[A-Z][a-z]* ", first) and not has_usage
        if is_prose and not last.startswith("  ") and not re.search(r"[.:?!)`\"]$", last.strip()):
            yield block[-1][0], "end: the last sentence has no full stop"


def check_json(path, lines):
    if not path.endswith((".h", ".cc")) or path.endswith("_test.cc") or path.startswith("tests/"):
        return
    for number, line in enumerate(lines, 1):
        if re.search(r"(\.|->)dump\(", line) and "error_handler_t" not in line:
            yield number, "json: dump() throws at bytes that are not UTF-8; use JsonText() (lra/json_text.h)"


def check_columns(path, lines):
    if not path.endswith((".h", ".cc")) or path.endswith("_test.cc") or path.startswith("tests/"):
        return
    for number, line in enumerate(lines, 1):
        if re.search(r"%[-+0]*(\d+|\*)(\.(\d+|\*))?s", line):
            yield number, "columns: the width of a %s counts bytes; use PadRight() or its like (lra/text_columns.h)"


def check(root):
    """Prints violations; returns their number, or -1 where there is nothing to check."""
    tree, files, failures = Tree(root), 0, 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        files += 1
        found, lines = comments(path, text), text.split("\n")
        broken = {*check_names(tree, path, found), *check_form(path, found, lines), *check_json(path, lines),
                  *check_columns(path, lines)}
        for number, rule in sorted(broken):
            print(f"{path}:{number}: {rule}")
            failures += 1
    return failures if files else -1


CLEAN = {
    "lra/a.h": "// One sentence that ends.\n// See lra/b and datasets/*.h, tasks/<name>/x.cc, lra/b.{h,cc}.\nint a;\n",
    "lra/b.h": "// --- Title ---\nint b;  // train/validation/test\n", "lra/b.cc": "char c = '\"';  // lra/b.h\n",
    "datasets/c.h": "const char* d = \"// lra/none.h\";\n", "tasks/d/x.cc": "",
    "examples/t/parity.cc": "", "docs/page.md": "# A title\n[here](#a-title) [there](other.md#b-c) `tasks/parity.cc`\n",
    "docs/other.md": "## B, c\n", ".gitignore": "/build/\n/third_party/\n", "build/e.h": "// lra/none.h\n",
    "third_party/libtorch/e.h": "// Of others: lra/none.h\n", "tests/f.sh": "# Reads lra/a.h.\n",
    "lra/g.cc": "// See b.h, and core/io/x.h of another project.\n", "lra/h_test.cc": "auto a = json.dump();\n",
    "lra/i.cc": 'auto a = Format("%s, %.4s, %8d %%, %5.1f", b);\n',
}
PLANTED = [
    ("files", "lra/p.h", "// See lra/gone.h.\n"), ("files", "lra/p.h", "int a;  /* lra/gone */\n"),
    ("files", "tests/p.sh", "true\t# as lra/gone.cc does\n"), ("files", "docs/p.md", "`lra/gone.h`\n"),
    ("files", "lra/p.proto", "// lra/gone_*.h hold them.\n"), ("files", "lra/p.cc", "// tasks/parity.cc\n"),
    ("files", "lra/p.h", "// See gone.h.\n"), ("files", "lra/p.h", "int a;  // d/x.cc\n"),
    ("links", "docs/p.md", "[x](gone.md)\n"), ("links", "docs/p.md", "[x](other.md#gone)\n"),
    ("rulers", "lra/p.cc", "// --- Title\n"), ("rulers", "lra/p.cc", "// -----\n"),
    ("width", "lra/p.h", "// " + "word " * 20 + "\n"), ("fragment", "lra/p.h", "// Of all examples.\n"),
    ("end", "lra/p.h", "// A sentence that goes on\n// and stops\n"), ("json", "lra/p.cc", "auto a = json.dump(2);\n"),
    ("columns", "lra/p.cc", 'auto a = Format("%-8s", b);\n'), ("columns", "lra/p.cc", 'auto a = Format("%*s", 8, b);\n'),
]


def self_test():
    """The clean tree passes, and one planted line makes exactly one violation, of its rule and in its file."""
    for rule, planted, text in [("", "", "")] + PLANTED:
        with tempfile.TemporaryDirectory() as root:
            for path, content in {**CLEAN, **({planted: text} if planted else {})}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(content)
            with tempfile.TemporaryFile("w+") as output:
                sys.stdout, saved = output, sys.stdout
                try:
                    failures = check(root)
                finally:
                    sys.stdout = saved
                output.seek(0)
                printed = output.read()
        found = printed.startswith(f"{planted}:") and f": {rule}: " in printed if rule else not printed
        if failures != len(rule[:1]) or not found:
            print(f"self-test: {planted!r} {text!r}: {failures} violations, printed: {printed}")
            return False
    return True


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") and sys.argv[1] != "--self-test":
        print("usage: check_comments.py ROOT | --self-test", file=sys.stderr)
        return 2
    if not self_test():
        return 1
    if sys.argv[1] == "--self-test":
        print("check_comments: every planted violation was found")
        return 0
    failures = check(sys.argv[1])
    if failures:
        print(f"check_comments: {failures} violations" if failures > 0 else f"{sys.argv[1]}: holds no sources")
        return 1
    print("check_comments: every file named exists, every comment keeps its form")
    return 0


if __name__ == "__main__":
    sys.exit(main())
