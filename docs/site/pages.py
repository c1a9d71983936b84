"""Makes mkdocs read its pages where they lie, with their paths from the root of the repository (mkdocs.yml, scripts/site).

Links of pages work unchanged, because every page keeps its place. Links to what is no page, a source or a folder of
records, lead to a page that shows it. A notebook is a page with its code.
"""
import json
import pathlib
import re

from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/tables/*.md", "docs/ablations/*.md"]
NOTEBOOKS = ["docs/*.ipynb"]
FILES = ["docs/*.svg", "docs/pictures/*", "docs/site/*.js", "docs/site/*.css"]
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".proto": "protobuf", ".py": "python", ".sh": "bash"}
LINK = re.compile(r"(\]\()([^)#\s]+)(?=[)#])")


def found(patterns):
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def other_target(page, link):
    """The file or folder of the repository that a link leads to, if mkdocs has no page of it."""
    target = (page.parent / link).resolve()
    is_ours = "//" not in link and target.exists() and target.is_relative_to(ROOT)
    return target if is_ours and target not in found(PAGES + FILES) else None


def shown(target):
    """The page that shows a file or lists a folder."""
    title = f"---\nsearch: {{exclude: true}}\n---\n\n# {target.relative_to(ROOT)}\n\n"
    if target.is_dir():
        return title + "A folder of the repository with\n\n" + "".join(f"* `{path.name}`\n" for path in sorted(target.iterdir()))
    return f"{title}````{LANGUAGES.get(target.suffix, 'text')}\n{target.read_text(encoding='utf-8').rstrip()}\n````\n"


def shown_notebook(path):
    """The notebook as a page: what it says, and the code of its cells."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells) + "\n"


def on_config(config):
    """Pages that no section of mkdocs.yml names are reference."""
    named = {page for section in config.nav for pages in section.values() for page in pages}
    others = [str(page.relative_to(ROOT)) for page in found(PAGES)]
    config.nav.append({"Reference": [page for page in others if page not in named]})
    return config


def on_files(files, config):
    for file in [file for file in files if not file.generated_by and file.abs_src_path.startswith(config.docs_dir)]:
        files.remove(file)
    for path in found(PAGES + FILES):
        files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    targets = {other_target(page, link) for page in found(PAGES) for _, link in LINK.findall(page.read_text(encoding="utf-8"))}
    for path in found(NOTEBOOKS):
        files.append(File.generated(config, f"{path.relative_to(ROOT)}.md", content=shown_notebook(path)))
    for target in sorted(targets - {None, *found(NOTEBOOKS)}):
        files.append(File.generated(config, f"{target.relative_to(ROOT)}.md", content=shown(target),
                                    inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown, page, config, files):
    here = ROOT / page.file.src_uri
    return LINK.sub(lambda m: f"{m[1]}{m[2].rstrip('/')}.md" if other_target(here, m[2]) else m[0], markdown)
