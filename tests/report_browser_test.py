#!/usr/bin/env python3
"""Opens the page of `lra report` in headless Chromium, with 1,000 records some of which are hostile, and uses it as people
do: with the mouse, the keyboard, on a phone, in the dark, through a screen reader's eyes.
usage: report_browser_test.py LRA      exit code 77 (skipped) without Chromium; LRA_SCREENSHOTS=FOLDER keeps pictures;
with the package axe-playwright-python (or LRA_AXE=axe.min.js) axe-core's rules are checked, too
"""
import importlib.util, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report_records
from report_browser import Browser, find_chromium

METHODS, SEEDS, MOST_MILLISECONDS = 20, 10, 1000
# What the checks below ask the page, by short names.
HELPERS = """globalThis.test = {
  rows: () => [...document.querySelectorAll('tbody tr:not(.group)')],
  shown: () => test.rows().filter((row) => !row.hidden).map((row) => row.cells[0].textContent),
  heads: () => [...document.querySelectorAll('.leaderboard thead th')],
  column: (task) => test.heads().findIndex((head) => head.dataset.column === `task:${task}`),
  values: (task) => test.rows().map((row) => Number(row.cells[test.column(task)].dataset.value)),
  cell: (label, task) => test.rows().find((row) => row.cells[0].textContent === label).cells[test.column(task)],
  cells: () => [...document.querySelectorAll('button.value')],
  set: (control, value, event) => { control.value = value; control.dispatchEvent(new Event(event)); },
  filter: (text) => test.set(document.querySelector('input[type=search]'), text, 'input'),
  relativeTo: (label) => {
    const show = document.querySelector('.tools select');
    const option = [...show.options].find((one) => one.text === (label ? `differences to ${label}` : 'scores'));
    test.set(show, option.value, 'change');
  },
  tick: (number) => document.querySelectorAll('fieldset input')[number].click(),
  dialog: document.getElementById('runs'),
  wait: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
}; 0"""

# What can be checked without a library: names of controls, structure of tables, alternatives of pictures, contrast of texts.
OWN_RULES = """(() => {
  const found = [];
  const complain = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  for (const one of document.querySelectorAll('button, summary')) if (!one.textContent.trim()) complain('no name', one);
  for (const one of document.querySelectorAll('input, select')) if (!one.closest('label')) complain('no label', one);
  for (const one of document.querySelectorAll('table')) if (!one.caption) complain('no caption', one);
  for (const one of document.querySelectorAll('th')) if (!one.scope) complain('no scope', one);
  for (const one of document.querySelectorAll('img')) if (!one.alt) complain('no alt', one);
  for (const one of document.querySelectorAll('svg:not([aria-hidden])')) {
    if (one.getAttribute('role') !== 'img' || !one.getAttribute('aria-label')) complain('no alternative', one);
  }
  for (const one of document.querySelectorAll('[id]')) {
    if (document.querySelectorAll(`[id="${one.id}"]`).length > 1) complain('id is not unique', one);
  }
  if (!document.documentElement.lang) found.push('no language');
  return found;
})()"""

CONTRAST = """(() => {
  const luminance = (color) => {
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => linear(v / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  const ratio = (selector) => {
    const ink = luminance(getComputedStyle(document.querySelector(selector)).color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  return ['h1', 'header p', 'button.value', '.standing', 'caption', 'tr.group th'].map((selector) => [selector, ratio(selector)]);
})()"""

failures = []


def expect(name, actual, wanted):
    if actual != wanted:
        failures.append(f"{name}: {actual!r}, expected {wanted!r}")


def find_axe():
    package = importlib.util.find_spec("axe_playwright_python")
    path = os.environ.get("LRA_AXE") or (package and f"{os.path.dirname(package.origin)}/axe.min.js")
    return path if path and os.path.exists(path) else None


def check_access(browser, where):
    expect(f"{where}: own rules", browser.run(OWN_RULES), [])
    for selector, ratio in browser.run(CONTRAST):
        if ratio < 4.5:
            failures.append(f"{where}: contrast of {selector} is {ratio:.1f}, at least 4.5")
    if not find_axe():
        return
    with open(find_axe()) as file:
        browser.run(file.read() + "; 0")
    violations = browser.run(
        "axe.run(document).then((result) => result.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html.slice(0, 120)}`))")
    expect(f"{where}: axe-core", violations, [])


def keep(browser, name):
    if "LRA_SCREENSHOTS" in os.environ:
        browser.screenshot(f"{os.environ['LRA_SCREENSHOTS']}/{name}.png")


def open_page(browser, page):
    browser.open(page)
    browser.run(HELPERS)


def check_loading(browser, page):
    times = []
    for _ in range(3):
        open_page(browser, page)
        times.append(browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    print(f"{METHODS * SEEDS * 5} records: loaded in {', '.join(f'{t:.0f}' for t in times)} ms")
    if min(times) > MOST_MILLISECONDS:
        failures.append(f"loading takes {min(times):.0f} ms, at most {MOST_MILLISECONDS}")
    expect("title, which hostile records would change", browser.run("document.title"), "Long-Range Arena: report")
    expect("rows", browser.run("test.rows().length"), METHODS)
    expect("cells that open", browser.run("test.cells().length"), METHODS * 5)


def check_sorting(browser):
    for order, is_falling in (("descending", True), ("ascending", False)):
        browser.run("test.heads()[test.column('listops')].querySelector('button').click()")
        expect("aria-sort", browser.run("test.heads()[test.column('listops')].getAttribute('aria-sort')"), order)
        values = browser.run("test.values('listops')")
        expect("order of values", values, sorted(values, reverse=is_falling))
    expect("announced", browser.run("document.querySelector('[role=status]').textContent"), "Sorted by listops, ascending")


def check_tools(browser):
    browser.run("test.filter('Method_03')")
    expect("filtered rows", browser.run("test.shown()"), ["method_03"])
    browser.run("test.filter('')")
    browser.run("test.tick(1)")
    expect("columns shown", browser.run("test.heads().filter((head) => !head.hidden).length"), 7)
    browser.run("test.tick(1)")
    browser.run("test.relativeTo('method_00')")
    difference = browser.run("test.cell('method_05', 'listops').querySelector('.difference').textContent")
    if not difference.startswith("−") or "[" not in difference or ", p " not in difference:
        failures.append(f"difference to method_00: {difference!r}, expected a negative one with its interval and p")
    keep(browser, "differences")
    browser.run("test.relativeTo('')")
    expect("differences left", browser.run("document.querySelectorAll('.difference').length"), 0)


def check_dialog(browser):
    opener = "test.cell('method_01', 'image').querySelector('button')"
    browser.run(f"{opener}.focus()")
    browser.press("Enter", 13)
    expect("dialog opens", browser.run("test.dialog.open"), True)
    expect("runs in it", browser.run("test.dialog.querySelectorAll('.runs tbody tr').length"), SEEDS)
    bands = "[...test.dialog.querySelectorAll('svg.chart')].map((chart) => chart.querySelectorAll('.band').length)"
    expect("bands of the curves and of the learned choice", browser.run(bands), [2, 2, 1])
    counts = browser.run("[...test.dialog.querySelectorAll('.share')].map((cell) => Number(cell.textContent.replaceAll(',', '')))")
    expect("examples in the confusion", sum(counts) / SEEDS in {size for _, size in report_records.TASKS.values()}, True)
    check_access(browser, "dialog")
    keep(browser, "dialog")
    browser.press("Escape", 27)
    expect("dialog closes", browser.run("test.dialog.open"), False)
    expect("focus returns", browser.run(f"document.activeElement === {opener}"), True)
    browser.run("test.cells().find((button) => button.textContent.includes('script')).click()")
    expect("hostile text is text", browser.run("document.getElementById('runs-title').textContent.includes('</script>')"), True)
    expect("hostile elements", browser.run("test.dialog.querySelectorAll('img, script').length"), 0)
    browser.run("test.dialog.close()")


def check_looks(browser, page):
    keep(browser, "wide")
    check_access(browser, "light")
    browser.run("document.querySelector('.cost').scrollIntoView(); test.wait(300)")
    expect("cost figure's points", browser.run("document.querySelectorAll('.cost circle').length"), METHODS)
    keep(browser, "cost")
    browser.prefer("dark")
    check_access(browser, "dark")
    keep(browser, "dark")
    browser.run("document.getElementById('theme').click()")
    expect("switched to light", browser.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
    browser.prefer("light")
    browser.resize(360, 740, is_phone=True)
    open_page(browser, page)
    expect("width on a phone", browser.run("document.documentElement.scrollWidth"), 360)
    check_access(browser, "phone")
    keep(browser, "phone")


def main(lra):
    if not find_chromium():
        print("skipped: Chromium is not installed; Debian: apt-get install chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        report_records.main(f"{work}/runs", METHODS, SEEDS)
        page = f"{work}/report.html"
        subprocess.run([lra, "report", f"{work}/runs", "--out", page, "--quiet"], check=True)
        with Browser() as browser:
            check_loading(browser, page)
            check_sorting(browser)
            check_tools(browser)
            check_dialog(browser)
            check_looks(browser, page)
            expect("errors, and addresses asked for", browser.problems(), [])
    print("\n".join(f"FAILED: {failure}" for failure in failures) or
          f"lra report in Chromium: as expected ({'with' if find_axe() else 'without'} axe-core)")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(sys.argv[1])
