"""Short names of data sources, as in Spark's format(): those of entry points, and of packages named pyspark_…, which
Spark searches, too. Nothing is imported."""

from __future__ import annotations

import importlib.metadata
import pkgutil
import sys
from collections.abc import Iterator

from runtime.system.python_sources.class_sources import ClassSources, UndecidedError

ENTRY_POINTS = "headrace.data_sources"
"""The group of entry points that declare data sources whose base class their source does not tell."""

BASE = ("pyspark.sql.datasource", "DataSource")

_PREFIX = "pyspark_"
_DEFAULT = "DefaultSource"  # the class by which Spark finds the data source of a package


def short_names() -> dict[str, tuple[str, str]]:
    """Module and class by name, in lower case."""
    names: dict[str, tuple[str, str]] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        names.setdefault(point.name.casefold(), (point.module, point.attr))
    sources = ClassSources(sys.path)
    for module in pkgutil.iter_modules(sys.path):
        if module.name.startswith(_PREFIX):
            for name, cls in _names(module.name, sources):
                names.setdefault(name.casefold(), (module.name, cls))
    return names


def _names(module: str, sources: ClassSources) -> Iterator[tuple[str, str]]:
    source = sources.source_or_none(module)
    for name in [] if source is None else source.names:
        try:
            at = sources.definition(module, name)
            if at is None or at == BASE or BASE not in sources.ancestors(*at):
                continue
        except UndecidedError:
            continue
        label = sources.class_of(*at).label
        if label is not None and label.text is not None:
            yield label.text, name
        elif name == _DEFAULT:
            yield module.removeprefix(_PREFIX), name
