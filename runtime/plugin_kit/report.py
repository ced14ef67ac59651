"""The report of `headrace plugin test`: a line for each check, and what to do about those that failed."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from runtime.plugin_kit.conformance.outcome import Outcome, Result

_MARKS = {Result.OK: "ok", Result.FAILED: "FAILED", Result.SKIPPED: "-"}
_INDENT = 11
_NAMES = 21  # columns of a check's name
_LEAST_DETAIL = 20


def width() -> int:
    """Columns of the terminal; 80 if the output is not one."""
    return max(60, shutil.get_terminal_size((80, 24)).columns)


def line(outcome: Outcome, columns: int) -> str:
    """One check; a failed one with the reason and the remedy on lines of their own."""
    head = f"  {_MARKS[outcome.result]:<7}  {outcome.check:<{_NAMES}}"
    if outcome.result is not Result.FAILED:
        return f"{head} {_shortened(outcome.detail, columns - len(head) - 1)}".rstrip()
    parts = [head.rstrip(), *_wrapped(outcome.title, columns), *_wrapped(outcome.detail, columns)]
    if outcome.advice:
        parts += _wrapped(f"→ {outcome.advice}", columns)
    return "\n".join(parts)


def summary(outcomes: Sequence[Outcome]) -> str:
    """The last line."""
    count = Counter(outcome.result for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    skipped = f", {count[Result.SKIPPED]} not applicable" if count[Result.SKIPPED] else ""
    failed = count[Result.FAILED]
    verdict = f"does not conform: {failed} {'check' if failed == 1 else 'checks'} failed" if failed else "conforms"
    return f"{verdict}, {count[Result.OK]} passed{skipped} ({seconds:.1f} s)"


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The report as JSON."""
    count = Counter(outcome.result.value for outcome in outcomes)
    return {
        "conforms": not count["failed"],
        **{result.value: count[result.value] for result in Result},
        "checks": [asdict(outcome) for outcome in outcomes],
    }


def _shortened(text: str, columns: int) -> str:
    text = " ".join(text.split())
    columns = max(columns, _LEAST_DETAIL)
    return text if len(text) <= columns else text[: columns - 1] + "…"


def _wrapped(text: str, columns: int) -> list[str]:
    """The text's lines, indented and wrapped; a traceback keeps its indentation."""
    indent = " " * _INDENT
    return [
        part
        for given in text.splitlines()
        for part in textwrap.wrap(given, columns, initial_indent=indent, subsequent_indent=indent, tabsize=4) or [""]
    ]
