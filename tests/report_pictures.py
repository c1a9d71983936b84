"""Pictures of the page in docs/report.md: of a suite on record, with rows in print."""
import os, subprocess, sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUITE, PUBLISHED = "cosformer_table4_small", "cosformer2022"
MOST_BYTES = 150_000


def make_page(lra, page):
    subprocess.run([lra, "report", f"{SOURCE}/docs/records/{SUITE}", "--published", PUBLISHED, "--out", page, "--quiet"], check=True)


def keep(browser, name):
    """Writes NAME.png into the folder $LRA_SCREENSHOTS, if there is one; returns its path."""
    if "LRA_SCREENSHOTS" not in os.environ:
        return None
    path = f"{os.environ['LRA_SCREENSHOTS']}/{name}.png"
    browser.screenshot(path)
    return path


def shrink(path):
    """Leaves a picture few colours, for which Pillow must be installed."""
    try:
        from PIL import Image
    except ImportError:
        print("pictures are as large as Chromium made them: Pillow is not installed; Debian: apt-get install python3-pil", file=sys.stderr)
        return
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(colors=256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def keep_small(browser, name, failures):
    """Keeps a picture that is small enough for the repository."""
    path = keep(browser, name)
    if not path:
        return
    shrink(path)
    if os.path.getsize(path) > MOST_BYTES:
        failures.append(f"{path} has {os.path.getsize(path)} bytes, at most {MOST_BYTES}")
