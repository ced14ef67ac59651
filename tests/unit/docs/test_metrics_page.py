"""Each metric of Headrace's own is in the documents, and each that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "runtime/herder/monitoring/metrics.py"


def test_the_metrics_of_the_documents_are_those_of_the_worker() -> None:
    names = re.findall(r'f?"(headrace_[a-z_{}]+)"', SOURCE.read_text("utf-8"))
    patterns = {re.compile(re.sub(r"\{\w+\}", "[a-z_]+", name)) for name in names}
    text = "".join(page.read_text("utf-8") for page in [ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])
    named = set(re.findall(r"`(headrace_[a-z_]+)(?:\{\w+\})?`", text))
    assert len(patterns) > 20 and [name for name in named if not any(each.fullmatch(name) for each in patterns)] == []
    assert [each.pattern for each in patterns if not any(map(each.fullmatch, named))] == []
