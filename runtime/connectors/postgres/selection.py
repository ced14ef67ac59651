"""Which tables and columns are read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.connectors.postgres.definition import Filters

if TYPE_CHECKING:
    import regex

SYSTEM_SCHEMAS = ("pg_catalog", "information_schema", "pg_toast")


class TableSelection:
    """Applies the regular expressions of the options, which ignore case."""

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self.takes_table = lru_cache(maxsize=4096)(self._takes_table)

    @property
    def is_limited(self) -> bool:
        """Whether options select or exclude tables."""
        filters = self._filters
        return bool(filters.schemas or filters.excluded_schemas or filters.tables or filters.excluded_tables)

    def _takes_table(self, schema: str, name: str) -> bool:
        filters, full = self._filters, f"{schema}.{name}"
        if schema in SYSTEM_SCHEMAS or schema.startswith("pg_temp"):
            return False
        if filters.schemas and not _matches(schema, filters.schemas):
            return False
        if filters.tables and not _matches(full, filters.tables):
            return False
        return not self._excludes(schema, name)

    def takes_partition(self, schema: str, name: str, ancestors: Sequence[tuple[str, str]]) -> bool:
        """Whether a table is read as a partition of tables that are."""
        return not self._excludes(schema, name) and any(self.takes_table(*ancestor) for ancestor in ancestors)

    def _excludes(self, schema: str, name: str) -> bool:
        filters = self._filters
        return _matches(schema, filters.excluded_schemas) or _matches(f"{schema}.{name}", filters.excluded_tables)

    def takes_column(self, schema: str, table: str, column: str) -> bool:
        """Whether a column that is not in the key is read."""
        filters, full = self._filters, f"{schema}.{table}.{column}"
        if filters.columns and not _matches(full, filters.columns):
            return False
        return not _matches(full, filters.excluded_columns)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(LimitedMatch(pattern, compiled=_compiled(pattern))(name) for pattern in patterns)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern, regex.IGNORECASE)
