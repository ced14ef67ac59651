"""Every package that the code imports is a declared dependency, not one that another dependency happens to bring."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.packages.lakehouse import PYSPARK

ROOT = Path(__file__).parents[2]
OWN = {"tui", "runtime", "tests", "docs", "parity"}  # tests/contract/parity runs as a program of its own
_NAME = re.compile(r"[\w.-]+")
_IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)


@pytest.mark.parametrize(
    ("half", "extras"),
    [
        ("tui", ["runtime"]),
        ("runtime", ["runtime", "avro", "protobuf", "json-schema", "pandas"]),
        ("tests", ["runtime", "dev"]),
    ],
)
def test_imported_packages_are_declared(half: str, extras: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = [line for name in extras for line in project["optional-dependencies"][name]]
    declared = {_normal(_NAME.findall(line)[0]) for line in [*project["dependencies"], *extra]}
    distributions = packages_distributions()
    allowed = {package for package, names in distributions.items() if declared.intersection(map(_normal, names))}
    allowed |= OWN | sys.stdlib_module_names
    undeclared = {
        f"{package} in {file.relative_to(ROOT)}"
        for file in sorted((ROOT / half).rglob("*.py"))
        for package in _imported(file.read_text("utf-8"), allowed)
    }
    assert undeclared == set()


def test_the_extra_for_tables_pins_the_spark_of_their_jars() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (spark,) = [found for line in extras["lakehouse"] if (found := Requirement(line)).name == "pyspark"]
    page = (ROOT / "docs/connectors/lakehouse.md").read_text("utf-8")
    versions = set(re.findall(r"spark\.packages=.*[-_](\d+\.\d+)_2\.13:", page))
    assert [version for version in ("4.0", "4.1", "4.2", "4.3") if spark.specifier.contains(f"{version}.9")] == [
        *versions
    ]
    assert spark.specifier.contains(PYSPARK)


def _imported(text: str, allowed: set[str]) -> set[str]:
    """The packages that are not allowed. Only texts with such a word after `from` or `import` are parsed."""
    if allowed.issuperset(_IMPORT.findall(text)):
        return set()
    return {name.partition(".")[0] for name in _modules(text)} - allowed


def _modules(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _normal(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
