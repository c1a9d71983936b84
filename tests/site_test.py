"""Makes the site of the pages, where a broken link is an error, and searches it in Chromium from its files.

usage: site_test.py SOURCE. Skipped (77) where scripts/site was never run: it fetches mkdocs. Without Chromium nothing is searched.
"""
import pathlib
import subprocess
import sys

from report_browser import Browser, find_chromium

SEARCH = """(async () => {
  const wait = time => new Promise(done => setTimeout(done, time));
  const input = document.querySelector(".md-search__input");
  input.focus();
  input.value = "WORDS";
  for (let i = 0; i < 1500; ++i) {  // the index is read in the background
    input.dispatchEvent(new Event("keyup", {bubbles: true}));
    input.dispatchEvent(new Event("input", {bubbles: true}));
    await wait(200);
    const links = [...document.querySelectorAll(".md-search-result__link")].map(link => link.href);
    if (links.length > 0) return links;
  }
  return [];
})()"""


def main(source):
    if not (source / "build/site-venv/packages").exists():
        print("skipped: scripts/site was never run here")
        return 77
    made = subprocess.run([source / "scripts/site"], capture_output=True, text=True)
    if made.returncode != 0:
        print("FAILED: scripts/site:", made.stderr)
        return 1
    failures = []
    site = source / "build/site"
    for page in sorted(source.glob("docs/*.md")):
        if not (site / f"docs/{page.stem}.html").exists():
            failures.append(f"no page of docs/{page.name}")
    if find_chromium():
        with Browser() as browser:
            for words, page in (("exact reduction", "docs/scaling.html"), ("adopt", "docs/data_only_task.html")):
                browser.open(str(site / "index.html"))
                found = browser.run(SEARCH.replace("WORDS", words))
                if not any(page in link for link in found):
                    failures.append(f"\"{words}\" finds {found}, not {page}")
            failures += browser.problems()
    print("\n".join(f"FAILED: {failure}" for failure in failures) or f"ok: {len(list(site.rglob('*.html')))} pages")
    return 1 if failures else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
