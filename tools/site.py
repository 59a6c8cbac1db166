"""What the site of the documentation has beside docs/: a hook of mkdocs (mkdocs.yml).

The README is its first page. Pages of the API are made of what the package's `__all__` name, and
each file of examples/ is a page, with a gallery of them. Links between files of the repository are
turned into links between those pages.
"""

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
#: file of the repository -> page
MOVED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
MODULES = ("dvm", "dvm.lazy", "dvm.onnx", "dvm.passes", "dvm.torch")
LANGUAGES = {".py": "python", ".cpp": "cpp"}
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in docs/."""
    for source, page in MOVED.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=with_links(text, source, page)))
    for module in MODULES:
        page = f"api/{module.removeprefix('dvm.')}.md"
        files.append(File.generated(config, page, content=api_page(module)))
    examples = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in LANGUAGES)
    for example in examples:
        files.append(File.generated(config, page_of_example(example), content=listing(example)))
    files.append(File.generated(config, "gallery.md", content=gallery(examples)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn links out of docs/ into links to the pages that stand for those files."""
    if page.file.generated_by:
        return markdown
    return with_links(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def with_links(text: str, source: str, page: str) -> str:
    """Return the text of a file of the repository with the links that it has as a page."""

    def turned(match: re.Match[str]) -> str:
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        target = page_of(linked)
        if target is None:
            return match[0]
        here = posixpath.relpath(target, posixpath.dirname(page) or ".")
        return f"]({here}{match[2] or ''})"

    return LINK.sub(turned, text)


def page_of(path: str) -> str | None:
    """Return the page that a file of the repository is on, if it is on one."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/"):
        return page_of_example(ROOT / path)
    return None


def page_of_example(path: Path) -> str:
    return f"examples/{path.name.replace('.', '_')}.md"


def public_names(module: str) -> list[str]:
    """Return what the module's `__all__` names, as it stands there."""
    path = ROOT / "python" / Path(*module.split("."))
    tree = ast.parse((path / "__init__.py").read_text("utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    raise ValueError(f"{module} has no __all__")


def api_page(module: str) -> str:
    names = [name for name in public_names(module) if f"{module}.{name}" not in MODULES]
    parts = [f"# {module}\n"]
    parts += [f"::: {module}.{name}\n" for name in names if not name.startswith("__")]
    return "\n".join(parts)


def summary(example: Path) -> str:
    """Return the first sentence that a file says of itself."""
    text = example.read_text("utf-8")
    found = re.match(r'"""(.*?)"""|((?://[^\n]*\n)+)', text, re.S)
    words = " ".join((found[1] or found[2].replace("//", "")).split()) if found else ""
    return words.split(". ")[0].rstrip(".") + "."


def listing(example: Path) -> str:
    language = LANGUAGES[example.suffix]
    text = example.read_text("utf-8")
    return f"# examples/{example.name}\n\n{summary(example)}\n\n```{language}\n{text}```\n"


def gallery(examples: list[Path]) -> str:
    rows = [f"| [{e.name}]({page_of_example(e)}) | {summary(e)} |" for e in examples]
    return "\n".join(["# Examples\n", "| file | what it shows |", "|---|---|", *rows, ""])
