#!/usr/bin/env python3
"""The notebook runs from its first cell to its last, and holds no output.
usage: notebook_test.py NOTEBOOK    exit code 77 (skipped) where it imports torch and Python has none of the build's version; the
package is on PYTHONPATH
"""
import json, linecache, os, re, sys, tempfile

path = os.path.abspath(sys.argv[1])
cells = [cell for cell in json.load(open(path))["cells"] if cell["cell_type"] == "code"]
assert len(cells) >= 4
if any(re.search("^import torch$", "".join(cell["source"]), re.M) for cell in cells):
    import built_torch
assert not any(cell["outputs"] or cell["execution_count"] for cell in cells), "clear the outputs before you commit"
names = {"__name__": "__main__"}
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for number, cell in enumerate(cells):
        source, file = "".join(cell["source"]), f"<cell {number}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # as a notebook has it
        exec(compile(source, file, "exec"), names)
    os.chdir("/")
print(f"ok: {len(cells)} cells of {os.path.basename(path)}")
