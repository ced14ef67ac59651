"""Figures in the documentation, filled from docs/benchmarks.json: `python -m tests.bench.figures`.

A page names a figure in a comment, and the text up to the closing comment is replaced:

    <!--figure idle-memory-0.ours-->307 MB<!--/-->

The part after the point is `ours` (Headrace), `java` (Java Connect), `ratio` (the larger value to the smaller one) or
`date`. `:2` rounds to two significant digits.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.bench import report

ROOT = report.DOCS.parent
_FIGURE = re.compile(r"(<!--figure ([\w-]+)\.(ours|java|ratio|date)(?::(\d))?-->)(.*?)(<!--/-->)", re.DOTALL)
_FIGURES = {figure.key: figure for figure in report.FIGURES}


def filled(text: str, data: report.Data) -> str:
    """The page with the figures of the data. Raises KeyError for an unknown figure."""

    def fill(match: re.Match[str]) -> str:
        digits = int(match[4]) if match[4] else None
        return match[1] + _shown(match[2], match[3], digits, data) + match[6]

    return _FIGURE.sub(fill, text)


def _shown(key: str, part: str, digits: int | None, data: report.Data) -> str:
    figure, row = _FIGURES[key], data["rows"][key]
    if part == "date":
        return str(row["date"])
    if part == "ratio":
        ratio = max(row["ours"], row["java"]) / min(row["ours"], row["java"])
        return f"{_rounded(ratio, digits or 2)}×"
    if digits is None:
        return report.shown(figure, row[part])
    return f"{_rounded(row[part], digits)} {figure.unit}".strip()


def _rounded(value: float, digits: int) -> str:
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def pages() -> list[Path]:
    """The documentation, without the pages that benchmarks write as a whole."""
    return sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if page != report.PAGE)


def main() -> None:
    for page in pages():
        text = page.read_text("utf-8")
        if (fresh := filled(text, report.load())) != text:
            page.write_text(fresh, "utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
