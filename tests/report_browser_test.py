#!/usr/bin/env python3
"""Opens pages of `lra report` in headless Chromium: one of 1,000 records some of which are hostile, with everything that can stand
beside records, and one of a suite on record. Uses them as people do: with the mouse, the keyboard, on a phone, in the dark, through
a screen reader's eyes.
usage: report_browser_test.py LRA      exit code 77 (skipped) without Chromium; LRA_SCREENSHOTS=FOLDER keeps pictures, and
LRA_RESULTS=FILE what was measured (JSON); with the package axe-playwright-python (or LRA_AXE=axe.min.js) axe-core's rules are checked, too
"""
import datetime, json, os, re, resource, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import report_pictures, report_records
from report_access import Access, find_axe
from report_browser import Browser, find_chromium
from report_pictures import SOURCE

METHODS, SEEDS, MOST_MILLISECONDS = 20, 10, 1000
PUBLISHED = f"{SOURCE}/configs/published/{report_pictures.PUBLISHED}.textproto"
# A grid on record, and a suite on record with effects.
CELLS = f"{SOURCE}/docs/records/efficiency/lra2020_table2_small.jsonl"
DESIGNED = f"{SOURCE}/docs/records/cosformer_table6_small"
# What the checks below ask the page, by short names.
HELPERS = """globalThis.test = {
  texts: (elements) => [...elements].map((one) => one.textContent),
  rowsOf: (kind) => [...document.querySelectorAll(`tbody[data-kind=${kind}] tr:not(.group)`)],
  rows: () => test.rowsOf('measured'),
  shown: () => test.rows().filter((row) => !row.hidden).map((row) => row.cells[0].textContent),
  heads: () => [...document.querySelectorAll('.leaderboard thead th')],
  column: (task) => test.heads().findIndex((head) => head.dataset.column === `task:${task}`),
  values: (task) => test.rows().map((row) => Number(row.cells[test.column(task)].dataset.value)),
  row: (label, kind = 'measured') => test.rowsOf(kind).find((row) => row.cells[0].textContent === label),
  cell: (label, task, kind) => test.row(label, kind).cells[test.column(task)],
  cells: () => [...document.querySelectorAll('button.value')],
  parts: (cell) => test.texts(cell.querySelectorAll('.value, .standing, .marks')),
  set: (control, value, event) => { control.value = value; control.dispatchEvent(new Event(event)); },
  filter: (text) => test.set(document.querySelector('input[type=search]'), text, 'input'),
  relativeTo: (label) => {
    const show = document.querySelector('.tools select');
    const option = [...show.options].find((one) => one.text === (label ? `differences to ${label}` : 'scores'));
    test.set(show, option.value, 'change');
  },
  tick: (number) => document.querySelectorAll('fieldset input')[number].click(),
  dialog: document.getElementById('runs'),
  headings: () => test.texts(test.dialog.querySelectorAll('h3')),
  captions: (part) => test.texts(part.querySelectorAll('caption')),
  table: (caption) => [...document.querySelectorAll('table')].find((one) => one.caption?.textContent === caption),
  content: (table) => [...(table ? table.rows : [])].map((row) => test.texts(row.cells)),
  wait: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
  // Figures are drawn when they come into view.
  drawAll: async () => {
    for (const place of document.querySelectorAll('.cost, .design, .panel')) {
      place.scrollIntoView();
      for (let i = 0; i < 15000 && !place.querySelector('svg'); ++i) await test.wait(20);
    }
    scrollTo(0, 0);
  },
  figures: (part) => [...part.querySelectorAll('svg[role=img]')].map((one) => one.getAttribute('aria-label')),
}; 0"""

failures = []
access = Access(failures)
results = {}


def expect(name, actual, wanted):
    if actual != wanted:
        failures.append(f"{name}: {actual!r}, expected {wanted!r}")


def expect_that(name, holds, actual):
    if not holds:
        failures.append(f"{name}: {actual!r}")


def open_page(browser, page):
    expect("errors, and addresses asked for", browser.problems(), [])
    browser.open(page)
    browser.run(HELPERS)


def check_loading(browser, page):
    open_page(browser, page)  # to warm up
    times = []
    for _ in range(3):
        open_page(browser, page)
        times.append(browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    print(f"{METHODS * SEEDS * 5} records: loaded in {', '.join(f'{t:.0f}' for t in times)} ms")
    results.update(load_milliseconds=[round(t) for t in times], load_limit_milliseconds=MOST_MILLISECONDS)
    expect_that(f"loading takes {MOST_MILLISECONDS} ms at most", max(times) <= MOST_MILLISECONDS, times)
    expect("title, which hostile records would change", browser.run("document.title"), "Long-Range Arena: report")
    expect("rows", browser.run("test.rows().length"), METHODS)
    expect("cells that open", browser.run("test.cells().length"), METHODS * 5 + len(report_records.BASELINES))


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
    expect("groups left", browser.run("[...document.querySelectorAll('.leaderboard tbody')].filter((one) => !one.hidden).length"), 1)
    browser.run("test.filter('')")
    browser.run("test.tick(1)")
    expect("columns shown", browser.run("test.heads().filter((head) => !head.hidden).length"), 7)
    browser.run("test.tick(1)")
    browser.run("test.relativeTo('method_00')")
    difference = browser.run("test.cell('method_05', 'listops').querySelector('.difference').textContent")
    if not difference.startswith("−") or "[" not in difference or ", p " not in difference:
        failures.append(f"difference to method_00: {difference!r}, expected a negative one with its interval and p")
    report_pictures.keep(browser, "made_up_differences")
    browser.run("test.relativeTo('')")
    expect("differences left", browser.run("document.querySelectorAll('.difference').length"), 0)


def check_letters(browser):
    """Scores of examples give letters and verdicts; without them an interval says that it is of counts."""
    best = browser.run("test.parts(test.cell('method_00', 'listops'))")
    worst = browser.run("test.parts(test.rows().find((row) => row.cells[0].textContent.includes('script')).cells[test.column('listops')])")
    letters = [re.fullmatch(r" \[[\d.]+, [\d.]+\] ([a-z]+)", parts[1]) for parts in (best, worst)]
    if not all(letters):
        failures.append(f"letters on ListOps: {best[1]!r} and {worst[1]!r}, expected them behind the intervals")
    else:
        expect("letters that the best and the worst row share", set(letters[0][1]) & set(letters[1][1]), set())
    expect("verdict", best[2], f"learned, {SEEDS}/{SEEDS} above; beats root operator")
    counted = browser.run("test.parts(test.cell('method_00', 'text'))[1]")
    expect_that("an interval of counts says so", counted.endswith("(counts)"), counted)


def check_baselines_and_print(browser):
    expect("baselines", browser.run("test.rowsOf('baseline').map((row) => row.cells[0].textContent)"), list(report_records.BASELINES))
    heading = browser.run("document.querySelector('tbody[data-kind=baseline] .group').textContent")
    expect("their heading", heading, "Baselines (no attention)")
    expect("majority class", browser.run("test.parts(test.cell('majority', 'listops', 'baseline'))[0]").split(":")[0], "10.0")
    with open(PUBLISHED) as file:
        printed = re.findall(r'label: "(.*)"\n.*"listops" value: ([\d.]+)', file.read())
    rows = browser.run("test.rowsOf('published').map((row) => [row.cells[0].textContent, row.cells[test.column('listops')].textContent])")
    expect("rows in print", [row for row in rows if row[0].endswith(" (published)")],
           [[f"{label} (published)", f"{float(value):.2f}"] for label, value in printed])
    # Its rows are of protocol lra2020, ours of fair.
    expect("differences from print", [row for row in rows if row[0].startswith(f"{report_records.PRINTED}: ")], [])
    notes = browser.run("test.texts(document.querySelectorAll('.leaderboard details li'))")
    expect("why there are none", [note.split(":")[0] for note in notes if note.startswith("No difference")],
           ["No difference from rows that were obtained otherwise"])


def check_effects(browser, effects):
    """The part that shows what `lra ablate` wrote."""
    design, = effects["designs"]
    title = effects["suite"] + (design["title"] and f": {design['title']}")
    expect("heading of the effects", browser.run("document.querySelector('#ablations h3').textContent"), title)
    rows = browser.run("test.content(document.querySelector('#ablations table'))")
    expect("heads of the effects", rows[0], ["effect", "kind", "task", "difference", "corrected p", "verdict"])
    expect("effects", [row[0] for row in rows[1:]], [effect["effect"] for effect in design["effects"]])
    expect("sentences", browser.run("test.texts(document.querySelectorAll('#ablations li'))"), design["words"])
    figures = browser.run("test.figures(document.getElementById('ablations'))")
    expect("figures of the effects", len(figures), 1)
    words = "".join(figures)
    where = [" less ".join(effect[name] for name in ("task", "less_task") if effect.get(name)) or "the average of the tasks"
             for effect in design["effects"]]
    expect("tasks", [row[2] for row in rows[1:]], where)
    drawn = [f"{effect['effect']} ({place}): " for effect, place in zip(design["effects"], where) if effect["kind"] != "simple"]
    expect_that("title in words", words.startswith(f"{title}: effects in points, with their intervals. {drawn[0]}"), words)
    expect("effects in words", [part.rsplit(": ", 1)[0] + ": " for part in words.split(". ", 1)[-1].split("; ")], drawn)


def check_efficiency(browser):
    """The part that shows what `lra bench efficiency` measured."""
    with open(CELLS) as file:
        requests = [json.loads(line)["request"] for line in file]
    methods = list(dict.fromkeys(request["attention"] for request in requests))
    captions = browser.run("test.captions(document.getElementById('efficiency'))")
    expect("tables", [caption.rsplit(": ", 1)[1] for caption in captions], ["milliseconds", "peak MB", "who is faster, and from where on"])
    for caption in captions[:2]:
        rows = browser.run(f"test.content(test.table({json.dumps(caption)}))")
        expect(f"methods of {caption}", [row[0] for row in rows[1:]], methods)
        expect(f"lengths of {caption}", len(rows[0]) - 2, len({request["tokens"] for request in requests}))
    figures = browser.run("test.figures(document.getElementById('efficiency'))")
    expect("figures", len(figures), 2)
    for words in figures:
        expect(f"methods in words: {words}", [name for name in methods if f"{name}: " not in words], [])


def check_dialog(browser):
    opener = "test.cell('method_01', 'image').querySelector('button')"
    browser.run(f"{opener}.focus()")
    browser.press("Enter", 13)
    expect("dialog opens", browser.run("test.dialog.open"), True)
    expect("focus is in it", browser.run("document.activeElement.textContent"), "Close")
    browser.press("Tab", 9)
    expect("focus stays in it", browser.run("test.dialog.contains(document.activeElement)"), True)
    name = browser.run("document.getElementById(test.dialog.getAttribute('aria-labelledby')).textContent")
    expect("its name", name, "method_01 on image")
    check_runs(browser)
    report_pictures.keep(browser, "made_up_dialog")
    access.check(browser, "dialog")
    browser.press("Escape", 27)
    expect("dialog closes", browser.run("test.dialog.open"), False)
    expect("focus returns", browser.run(f"document.activeElement === {opener}"), True)
    check_other_dialogs(browser)


def check_runs(browser):
    """What stands in the dialog of the cell whose runs have everything."""
    expect("parts", browser.run("test.headings()"), ["Training", "Learned choices", "Confusion", "Profile of seed 0", "Attention maps",
                                                     "Settings: protocol fair@1, preset small", "Machine and build"])
    expect("runs in it", browser.run("test.dialog.querySelectorAll('.runs tbody tr').length"), SEEDS)
    bands = "[...test.dialog.querySelectorAll('svg.chart')].map((chart) => chart.querySelectorAll('.band').length)"
    expect("bands of the curves and of the learned choice", browser.run(bands), [2, 2, 1])
    counts = browser.run("[...test.dialog.querySelectorAll('.share')].map((cell) => Number(cell.textContent.replaceAll(',', '')))")
    expect("examples in the confusion", sum(counts) / SEEDS, report_records.TASKS["image"][1])
    expect("captions", browser.run("test.captions(test.dialog)"),
           ["Runs", f"Examples by label (row) and guess (column), {SEEDS} seeds together", "brightness: quarters",
            "Where it departs from the protocol", "Settings"])
    expect("profile", browser.run("test.content(test.table('brightness: quarters'))"),
           [["brightness", "examples", "accuracy in %"], ["1", "6,000", "50.00 [45.00, 55.00]"], ["2", "4,000", "25.00"]])
    maps = browser.run("""(async () => {
      const images = [...test.dialog.querySelectorAll('figure img')];
      for (const image of images) {
        image.scrollIntoView();
        await image.decode();
      }
      test.dialog.scrollTop = 0;
      return images.map((image) => [image.alt, image.naturalWidth, image.nextSibling.textContent]);
    })()""")
    expect("maps, without single heads", maps, [[f"Attention map {name}-mean.png of seed 0", 16, f"{name}-mean.png, seed 0"]
                                                for name in report_records.MAPS if "head" not in name])


def check_other_dialogs(browser):
    browser.run("test.cells().find((button) => button.textContent.includes('script')).click()")
    expect("hostile text is text", browser.run("document.getElementById('runs-title').textContent.includes('</script>')"), True)
    expect("hostile elements", browser.run("test.dialog.querySelectorAll('img, script').length"), 0)
    expect("hostile warning", browser.run("test.headings()[0]"), "Remarks")
    browser.run("test.dialog.close()")
    browser.run("test.cell('root_operator', 'listops', 'baseline').querySelector('button').focus()")
    browser.press(" ", 32)
    expect("parts of a baseline's runs", browser.run("test.headings()"), ["Settings: protocol fair@1, preset small", "Machine and build"])
    expect("its sentence", browser.run("test.dialog.querySelector('p').textContent"), "Knows nothing but its root operator.")
    browser.run("test.dialog.close()")


def check_looks(browser, page):
    report_pictures.keep(browser, "made_up_wide")
    access.check(browser, "light")
    browser.run("document.querySelector('.cost').scrollIntoView()")
    expect("cost figure's points", browser.run("document.querySelectorAll('.cost circle').length"), METHODS)
    for part in "cost", "ablations", "efficiency":
        browser.run(f"document.querySelector('.{part}, #{part}').scrollIntoView()")
        report_pictures.keep(browser, f"made_up_{part}")
    browser.prefer("dark")
    report_pictures.keep(browser, "made_up_dark")
    access.check(browser, "dark")
    browser.run("document.getElementById('theme').click()")
    expect("switched to light", browser.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
    browser.prefer("light")
    check_phone(browser, page)


def check_phone(browser, page):
    browser.resize(360, 740, is_phone=True)
    open_page(browser, page)
    browser.run("test.drawAll()")
    expect("width on a phone", browser.run("document.documentElement.scrollWidth"), 360)
    report_pictures.keep(browser, "made_up_phone")
    for part in "ablations", "efficiency":
        browser.run(f"document.getElementById('{part}').scrollIntoView()")
        report_pictures.keep(browser, f"made_up_phone_{part}")
    access.check(browser, "phone")


def check_kept(browser, page):
    """The page of a suite on record, whose pictures are in docs/report.md."""
    browser.resize(1100, 1320)
    open_page(browser, page)
    browser.run("test.drawAll()")
    report_pictures.keep_small(browser, "report", failures)
    browser.resize(1100, 880)
    browser.prefer("dark")
    browser.run("document.querySelector('.cost').previousSibling.previousSibling.scrollIntoView({block: 'center'})")
    report_pictures.keep_small(browser, "report_dark", failures)
    access.check(browser, "kept suite dark")
    browser.prefer("light")
    access.check(browser, "kept suite light")
    browser.run("test.cell('cosformer', 'listops').querySelector('button').click()")
    report_pictures.keep_small(browser, "report_dialog", failures)
    access.check(browser, "kept suite dialog")
    browser.resize(360, 740, is_phone=True, scale=2)
    open_page(browser, page)
    report_pictures.keep_small(browser, "report_phone", failures)
    access.check(browser, "kept suite phone")


def processor():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
    return found[1] if found else os.uname().machine


def make_page(lra, runs, page):
    """The page of made-up records, with what other commands write beside them; returns the effects."""
    report_records.main(runs, METHODS, SEEDS)
    shutil.copy(CELLS, f"{runs}/cells.jsonl")
    subprocess.run([lra, "ablate", DESIGNED, "--baselines", f"{DESIGNED}/baselines", "--out", f"{runs}/effects.json"], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([lra, "report", runs, "--published", report_pictures.PUBLISHED, "--out", page, "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    results.update(records=METHODS * SEEDS * 5, methods=METHODS, seeds=SEEDS, page_bytes=os.path.getsize(page),
                   processor_seconds=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2))
    with open(f"{runs}/effects.json") as file:
        return json.load(file)


def write_results(browser):
    if "LRA_RESULTS" not in os.environ:
        return
    results.update(date=str(datetime.date.today()), browser=browser.version, processor=processor(), cores=os.cpu_count(),
                   axe=access.axe_version, violations=access.violations)
    with open(os.environ["LRA_RESULTS"], "w") as file:
        file.write(json.dumps(results, indent=1) + "\n")


def main(lra):
    if not find_chromium():
        print("skipped: Chromium is not installed; Debian: apt-get install chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        page, kept = f"{work}/report.html", f"{work}/kept.html"
        effects = make_page(lra, f"{work}/runs", page)
        report_pictures.make_page(lra, kept)
        with Browser() as browser:
            check_loading(browser, page)
            check_letters(browser)
            check_baselines_and_print(browser)
            check_sorting(browser)
            check_tools(browser)
            browser.run("test.drawAll()")
            check_effects(browser, effects)
            check_efficiency(browser)
            check_dialog(browser)
            check_looks(browser, page)
            check_kept(browser, kept)
            expect("errors, and addresses asked for", browser.problems(), [])
            write_results(browser)
    print("\n".join(f"FAILED: {failure}" for failure in failures) or
          f"lra report in Chromium: as expected ({'with' if find_axe() else 'without'} axe-core)")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(sys.argv[1])
