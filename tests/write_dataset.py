"""Writes a tiny ListOps data set by docs/format.md: NumPy, the standard library, nothing of the project."""
import hashlib, os, sys
import numpy as np

NAMES = ["<pad>"] + list("0123456789") + ["[MIN", "[MAX", "[MED", "[SM", "]"]
DATA = {"train": [("[MAX 2 [SM 3 4 ] 7 ]", 7), ("[MED 2 5 ]", 3), ("[MIN 4 1 ]", 1), ("[SM 9 9 ]", 8)],
        "validation": [("[MED 4 9 7 ]", 7)], "test": [("[SM 9 9 5 ]", 3)]}
sha256 = lambda data: hashlib.sha256(data)
out = sys.argv[1]
os.makedirs(out)
text = 'format_version: 1\nspec {\n  name: "listops"\n  version: 1\n  vocabulary_size: 16\n'
text += "".join(f'  token_names: "{name}"\n' for name in NAMES)
text += '  max_length_tokens: 1999\n  classes: 10\n  metric: ACCURACY\n  close_bracket_id: 15\n}\norigin: "imported"\n'
for split, examples in DATA.items():
    rows = [np.array([NAMES.index(word) for word in source.split()], "<u2") for source, _ in examples]
    labels = np.array([label for _, label in examples], "<i4")
    columns = {"tokens": np.concatenate(rows).astype("u1"), "labels": labels,
               "offsets": np.cumsum([0] + [len(row) for row in rows]).astype("<i8")}
    content = sha256(b"".join(sha256(sha256(row.tobytes()).digest() + label.tobytes()).digest()
                              for row, label in zip(rows, labels))).hexdigest()
    text += f'splits {{\n  name: "{split}"\n  examples: {len(rows)}\n  tokens: {len(columns["tokens"])}\n'
    text += f'  content_fingerprint: "{content}"\n  shards {{\n    examples: {len(rows)}\n'
    for column, values in columns.items():
        name = f"{split}-00000-of-00001.{column}.npy"
        np.save(os.path.join(out, name), values)
        data = open(os.path.join(out, name), "rb").read()
        text += f'    files {{ name: "{name}" size_bytes: {len(data)} sha256: "{sha256(data).hexdigest()}" }}\n'
    text += "  }\n" + "".join(f"  label_count: {n}\n" for n in np.bincount(labels, minlength=10)) + "}\n"
with open(os.path.join(out, "manifest.textproto"), "w") as manifest:
    manifest.write(text + f"# sha256: {sha256(text.encode()).hexdigest()}\n")
