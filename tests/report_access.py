"""Whether everybody can use a page that is open in a browser: rules of our own and, where its package is installed, axe-core's."""
import importlib.util, os

IMPACTS = ("critical", "serious", "moderate", "minor")

# What can be checked without a library: names of controls, structure of tables, alternatives and edges of pictures.
OWN_RULES = """(() => {
  const found = [];
  const complain = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
  for (const one of document.querySelectorAll('button, summary')) if (!one.textContent.trim()) complain('no name', one);
  for (const one of document.querySelectorAll('input, select')) if (!one.closest('label')) complain('no label', one);
  for (const one of document.querySelectorAll('table')) {
    if (!one.caption || !one.caption.textContent.trim()) complain('no caption', one);
    if (!one.querySelector('th[scope=col]')) complain('no heads of columns', one);
  }
  for (const one of document.querySelectorAll('tbody tr')) if (!one.querySelector('th')) complain('no head of the row', one);
  for (const one of document.querySelectorAll('th')) if (!one.scope) complain('no scope', one);
  for (const one of document.querySelectorAll('img')) if (!one.alt) complain('no alt', one);
  for (const one of document.querySelectorAll('svg:not([aria-hidden])')) {
    if (one.getAttribute('role') !== 'img' || !one.getAttribute('aria-label')) complain('no alternative', one);
  }
  for (const one of document.querySelectorAll('figure')) {
    if (!one.querySelector('figcaption')?.textContent.trim()) complain('no caption', one);
  }
  for (const one of document.querySelectorAll('svg text')) {
    const box = one.getBBox(), whole = one.ownerSVGElement.viewBox.baseVal;
    if (box.x < 0 || box.y < 0 || box.x + box.width > whole.width || box.y + box.height > whole.height) complain('cut off', one);
  }
  for (const one of document.querySelectorAll('[id]')) {
    if (document.querySelectorAll(`[id="${one.id}"]`).length > 1) complain('id is not unique', one);
  }
  if (!document.documentElement.lang) found.push('no language');
  return found;
})()"""

# [selector, contrast with the paper, what it must be at least] of texts and of what charts draw; null = nothing of the kind is there.
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
  const ratio = (selector, property) => {
    const one = document.querySelector(selector);
    if (!one) return null;
    const ink = luminance(getComputedStyle(one)[property]);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  const texts = ['h1', 'header p', 'button.value', '.standing', '.marks', 'caption', 'figcaption', 'tr.group th', 'summary'];
  const lines = [...Array(8).keys()].map((i) => `.line.c${i}`);
  return [...texts.map((selector) => [selector, ratio(selector, 'color'), 4.5]),
          ['.chart text', ratio('.chart text', 'fill'), 4.5], ['.mark', ratio('.mark', 'fill'), 3],
          ...lines.map((selector) => [selector, ratio(selector, 'stroke'), 3])];
})()"""

FOLDS = "for (const one of document.querySelectorAll('details')) one.open = IS_OPEN; 0"
AXE = """axe.run(document).then((result) => result.violations.map(
  (v) => ({impact: v.impact, text: `${v.impact} ${v.id}: ${v.nodes[0].html.slice(0, 120)}`})))"""


def find_axe():
    package = importlib.util.find_spec("axe_playwright_python")
    named = os.environ.get("LRA_AXE")
    if named and not os.path.exists(named):
        raise SystemExit(f"LRA_AXE={named}: there is no such file")
    path = named or (package and f"{os.path.dirname(package.origin)}/axe.min.js")
    return path if path and os.path.exists(path) else None


class Access:
    """Checks pages; keeps what is wrong with them, and axe-core's violations of each page by impact."""

    def __init__(self, failures):
        self.failures = failures
        self.axe_version = None
        self.violations = {}

    def check(self, browser, where):
        """What is folded is unfolded meanwhile."""
        browser.run(FOLDS.replace("IS_OPEN", "true"))
        self.failures += [f"{where}: {wrong}" for wrong in browser.run(OWN_RULES)]
        for selector, ratio, least in browser.run(CONTRAST):
            if ratio is not None and ratio < least:
                self.failures.append(f"{where}: contrast of {selector} is {ratio:.1f}, at least {least}")
        if find_axe():
            self.check_axe(browser, where)
        browser.run(FOLDS.replace("IS_OPEN", "false"))

    def check_axe(self, browser, where):
        with open(find_axe()) as file:
            browser.run(file.read() + "; 0")
        self.axe_version = browser.run("axe.version")
        found = browser.run(AXE)
        self.failures += [f"{where}: axe-core: {violation['text']}" for violation in found]
        self.violations[where] = {impact: sum(one["impact"] == impact for one in found) for impact in IMPACTS}
