#!/usr/bin/env python3
"""Pictures of `lra attend` side by side, small enough for a page: two in a row. Needs Pillow.

usage: benchmarks/attention_figure.py OUT.png PICTURE.png...

cosFormer's Figure 3 (docs/attention_maps.md), from the runs of `lra run cosformer_figure3_small` and their maps:
  cd runs/cosformer_figure3_small
  benchmarks/attention_figure.py docs/pictures/attention_maps.png text-{transformer,relu,cosformer}-*/maps/all-coverage.png \\
    text-cosformer-*/maps/all-reweighting.png
"""
import sys

from PIL import Image

WIDTH_PIXELS = 520
COLOURS = 256


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    pictures = [Image.open(path).convert("RGB") for path in sys.argv[2:]]
    pictures = [one.resize((WIDTH_PIXELS, one.height * WIDTH_PIXELS // one.width), Image.LANCZOS) for one in pictures]
    height = max(one.height for one in pictures)
    sheet = Image.new("RGB", (2 * WIDTH_PIXELS, height * ((len(pictures) + 1) // 2)), "white")
    for place, one in enumerate(pictures):
        sheet.paste(one, (place % 2 * WIDTH_PIXELS, place // 2 * height))
    sheet.quantize(COLOURS).save(sys.argv[1], optimize=True)


if __name__ == "__main__":
    main()
