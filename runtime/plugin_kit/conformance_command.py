"""`headrace plugin test PATH`: runs the conformance suite on the plugins of a project."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from fnmatch import fnmatch
from pathlib import Path

from runtime.api.config.definition import ConfigDef
from runtime.api.connector import SinkConnector, SourceConnector
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.transformation import Predicate
from runtime.plugin_kit import report
from runtime.plugin_kit.author_code import AuthorCode, load
from runtime.plugin_kit.conformance.outcome import Outcome, Result
from runtime.plugin_kit.errors import KitUsageError
from runtime.plugin_kit.suite import Check, checks

CONFORMS, DEFECTS = 0, 1


def run_suite(path: Path, only: Sequence[str], as_json: bool) -> int:
    """Runs the checks whose names match one of the patterns `only` (none: all). Returns the exit code."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.CRITICAL)  # the report says what failed; plugins log what they provoke
    try:
        return _report(load(path), only, as_json)
    finally:
        root.setLevel(level)


def _report(code: AuthorCode, only: Sequence[str], as_json: bool) -> int:
    chosen = [check for check in checks(code.cases) if not only or any(fnmatch(check.name, p) for p in only)]
    if only and not chosen:
        names = sorted({check.name for check in checks(code.cases)})
        raise KitUsageError(f"no check matches {' '.join(only)}; the checks are {', '.join(names)}")
    outcomes = list(_run(chosen, code, not as_json))
    if as_json:
        print(json.dumps(report.as_json(outcomes), indent=2))
    else:
        print(report.summary(outcomes))
    return DEFECTS if any(outcome.result is Result.FAILED for outcome in outcomes) else CONFORMS


def _run(chosen: Sequence[Check], code: AuthorCode, shown: bool) -> Iterator[Outcome]:
    columns, last = report.width(), None
    for check in chosen:
        if shown and check.case is not last:
            print(_heading(check.case.title, check.case.plugin), flush=True)
            last = check.case
        with redirect_stdout(sys.stderr):  # a plugin that prints must not disturb the report
            outcome = check.run()
        if shown:
            print(report.line(outcome, columns), flush=True)
        yield outcome
    for plugin in code.without_case:
        outcome = _missing_case(plugin, code)
        if shown:
            print(_heading(plugin.__name__, plugin))
            print(report.line(outcome, columns), flush=True)
        yield outcome
    if shown:
        print()


def _heading(title: str, plugin: type) -> str:
    name = f"{plugin.__module__}.{plugin.__qualname__}"
    return f"\n{name}" if title in name else f"\n{name} ({title})"


def _missing_case(plugin: type, code: AuthorCode) -> Outcome:
    missing = code.without_case
    add = f"Add to {code.expected_cases_file}:\n\n{example_module(missing)}"
    return Outcome(
        plugin.__name__,
        "case",
        "There is an example with which the plugin can be tried",
        Result.FAILED,
        "The suite needs a configuration that works, which it cannot guess",
        add if plugin is missing[0] else "Add its case, see above",
    )


def example_module(plugins: Sequence[type]) -> str:
    """The text of a module with cases for these plugins, to be completed by the author."""
    described = [(plugin, *_described(plugin)) for plugin in plugins]
    names = ", ".join(["Case", *sorted({kind for _, kind, _, _ in described})])
    imports = [f"from {plugin.__module__} import {plugin.__name__}" for plugin in plugins]
    cases = [
        f"    {kind}({field}={plugin.__name__}, config={{{_required(plugin)}}}{more}),"
        for plugin, kind, field, more in described
    ]
    return "\n".join([f"from runtime.plugin_kit import {names}", *imports, "", "CASES: list[Case] = [", *cases, "]"])


def _described(plugin: type) -> tuple[str, str, str]:
    """The class of the plugin's case, the name of the plugin in it, and further arguments."""
    return next((kind, field, more) for base, kind, field, more in _KINDS if issubclass(plugin, base))


def _required(plugin: type) -> str:
    definition = getattr(plugin, "config_def", ConfigDef())
    return ", ".join(f'"{key.name}": "…"' for key in definition if key.required)


_KINDS: tuple[tuple[type, str, str, str], ...] = (
    (SourceConnector, "SourceCase", "connector", ""),
    (SinkConnector, "SinkCase", "connector", ", value=lambda number: …, written=lambda config: …"),
    (Predicate, "PredicateCase", "predicate", ""),
    (Converter, "ConverterCase", "converter", ", values=[(None, …)]"),
    (HeaderConverter, "HeaderConverterCase", "converter", ", values=[(None, …)]"),
    (object, "TransformationCase", "transformation", ""),
)
