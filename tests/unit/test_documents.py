"""What the documentation names exists: paths, tests, links, anchors. Its figures are those of docs/benchmarks.json.

Each job of docs/jobs.md, and each row of tests/contract/kips.md, has its test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import figures, report
from tests.support.console.counted_terminal import documented
from tui.appearance import themes

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_PATH = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests|docs|themes)/[\w*./-]*[\w*]")
_MODULE = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests)(?:\.[a-z_]+)+(?![\w(])")
_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
_SHORT = re.compile(r"(?<![\w/.])[\w/]+\.(?:py|java)\b")
_TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")
_FILE = re.compile(r"`[\w/]+\.py`")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


@documents
def test_every_named_path_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    assert [name for name in _names(text) if not list(ROOT.glob(name))] == []
    assert [f"{file}::{test}" for file, test in _TEST.findall(text) if not _has_test(ROOT / file, test)] == []


@documents
def test_every_table_is_complete(document: Path) -> None:
    """A table has a heading, and as many cells in each row. No row, and no name of a file, is there twice."""
    for table in _TABLE.findall(_prose(document)):
        rows = [_CELLS.split(line.strip("|")) for line in table.splitlines()]
        assert len(rows) > 2 and set(table.splitlines()[1]) <= set("|-: "), table.splitlines()[0]
        assert [row for row in rows if len(row) != len(rows[0])] == []
        files = [row[0].strip() for row in rows if _FILE.fullmatch(row[0].strip())]
        assert sorted(files) == sorted(set(files)) and len(set(map(str, rows))) == len(rows)


def test_every_file_that_the_architecture_names_by_its_end_exists() -> None:
    paths = [path for folder in ("tui", "runtime", "tests") for path in (ROOT / folder).rglob("*.*")]
    ends = {"/".join(path.parts[-depth:]) for path in paths for depth in range(1, 8)}
    pages = [ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/architecture/*.md")]
    names = {match[0] for page in pages for match in _SHORT.finditer(page.read_text("utf-8"))}
    assert len(names) > 100 and names - ends == set()


@documents
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    broken = []
    for link in _LINK.finditer(document.read_text("utf-8")):
        page = document.parent / link[1] if link[1] else document
        if not page.exists() or (link[2] and link[2] not in _anchors(page.resolve())):
            broken.append(link[0])
    assert broken == []


def test_every_folder_is_in_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## Folders\n")[2]
    folders = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/*.py")}
    assert {folder for folder in folders if folder.split("/")[0] in ("tui", "runtime", "tests")} - set(
        _names(text)
    ) == set()


def test_every_page_is_in_the_index() -> None:
    linked = {(ROOT / "docs" / link[1]).resolve() for link in _LINK.finditer((ROOT / "docs/README.md").read_text())}
    pages = {page for page in DOCUMENTS if "docs" in page.parts and "architecture" not in page.parts}
    assert pages - linked == {ROOT / "docs" / "README.md"}


@documents
def test_figures_are_those_of_the_benchmarks(document: Path) -> None:
    text, data = document.read_text("utf-8"), report.load()
    wanted = report.page(data) if document == report.PAGE else figures.filled(text, data)
    assert text == wanted, "run: python -m tests.bench.figures"


def test_the_picture_is_small_and_still_for_readers_who_prefer_it() -> None:
    picture = ROOT / "docs" / "screen.svg"
    text = picture.read_text("utf-8")
    assert picture.stat().st_size < 300_000
    assert "prefers-reduced-motion" in text
    elements = list(ElementTree.fromstring(text).iter())
    assert {element.tag.partition("}")[2] for element in elements} == {
        *("svg", "title", "style", "rect", "circle", "defs", "g", "use", "text")
    }
    frames = [element for element in elements if element.get("class", "").split()[:1] == ["f"]]
    assert len(frames) > 10 and [frame.get("class") for frame in frames].count("f s") == 1


def test_the_gallery_has_a_picture_of_each_theme() -> None:
    page = (ROOT / "docs/themes.md").read_text("utf-8")
    shown = {match[1] for match in re.finditer(r"!\[[^]]*\]\(gallery/([\w-]+)\.svg\)", page)}
    pictures = {path.stem: path.read_text("utf-8") for path in ROOT.glob("docs/gallery/*.svg")}
    assert shown == pictures.keys() == {theme.name for theme in themes.bundled()}
    for theme in themes.bundled():
        picture = pictures[theme.name]
        assert "animation" not in picture and len(picture) < 100_000 and "FAILED" in picture
        used = {theme.colours[key].lower() for key in ("paper.background", "state.failed", "state.running")}
        assert theme.ansi or all(colour in picture.lower() for colour in used), f"{theme.name}: make recording"


def _names(text: str) -> Iterator[str]:
    yield from (match[0] for match in _PATH.finditer(text))
    for match in _MODULE.finditer(text):
        name = match[0].replace(".", "/")
        yield f"{name}*"


def _has_test(file: Path, test: str) -> bool:
    return file.exists() and re.search(rf"\bdef {test}\(", file.read_text("utf-8")) is not None


@cache
def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(_prose(page))]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text("utf-8"))


_COUNTED = re.compile(r'(?:with .*\bjob|\bcheck)\("([^"]+)"')
JOBS = Path(__file__).parents[1] / "tui" / "terminal" / "jobs"


def test_each_number_of_the_page_of_jobs_is_counted() -> None:
    counted = [name for path in JOBS.glob("test_*.py") for name in _COUNTED.findall(path.read_text("utf-8"))]
    assert sorted(documented()) == sorted(counted)
    assert len(counted) == 14


KIPS = ROOT / "tests" / "contract" / "kips.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_test_that_the_page_of_kips_names_exists() -> None:
    named = set(_NAMED.findall(KIPS.read_text()))
    assert len(named) > 40
    missing = [f"{file}::{test}" for file, test in sorted(named) if f"def {test}(" not in _text(file)]
    assert missing == []


def test_every_row_of_the_page_of_kips_names_a_test_or_a_reason() -> None:
    rows = [
        line for line in KIPS.read_text().splitlines() if line.startswith("| ") and not line.startswith("| requirement")
    ]
    bare = [row for row in rows if not row.startswith("| ---") and not _NAMED.search(row) and "not yet:" not in row]
    assert bare == []


def _text(file: str) -> str:
    """The text of a test file: in a folder below tests/, or anywhere in tests/scenario."""
    paths = [ROOT / "tests" / file] if "/" in file else ROOT.glob(f"tests/scenario/**/{file}")
    return "".join(path.read_text("utf-8") for path in paths if path.exists())
