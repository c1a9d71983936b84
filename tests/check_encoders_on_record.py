#!/usr/bin/env python3
"""Follows each run on record that began from an encoder of its own back to initial weights, through the records of its stages.

A run names the weights that it began from by digest (encoder_weights_sha256), and the record of the stage that made them has the same
digest (weights_sha256).

usage: check_encoders_on_record.py FOLDER
"""
import pathlib
import re
import sys

BEGAN = re.compile(r'^  encoder_weights_sha256: "(\w+)"', re.M)
RECIPE = re.compile(r'^  encoder_recipe: "', re.M)
ENDED = re.compile(r'^weights_sha256: "(\w+)"', re.M)


def lineage(text, stages):
    """Folders of the stages, last first; KeyError for a digest that is in no record."""
    folders = []
    while began := BEGAN.search(text):
        folder, text = stages[began[1]]
        folders.append(folder)
    return folders


records = {path.parent: path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).rglob("record.textproto"))}
stages = {ended[1]: (folder, text) for folder, text in records.items() if (ended := ENDED.search(text))}
failures, followed = [], 0
for folder, text in records.items():
    if not RECIPE.search(text):
        continue
    try:
        followed += len(lineage(text, stages)) > 0
    except KeyError as digest:
        failures.append(f"{folder}: no record has weights_sha256: {digest}, from which its stages began")
if followed == 0:
    failures.append(f"{sys.argv[1]}: no run began from an encoder of its own")
print("\n".join([*failures, f"{followed} runs were followed to initial weights, {len(failures)} problems"]))
sys.exit(1 if failures else 0)
