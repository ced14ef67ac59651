"""Names of tables, and the choice of the tables that a source reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.limited import LimitedMatch

_PART = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^."`]+)')


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """A table's name and its schema; None for the schema that the connection uses by default."""

    schema: str | None
    name: str

    @property
    def text(self) -> str:
        """`schema.name`, without quotes, as in source partitions and messages."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    def __str__(self) -> str:
        return self.text


def quoted(name: str) -> str:
    """The name as SQL's delimited identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def parse_table(text: str) -> TableId:
    """The table of `name`, `schema.name` or `catalog.schema.name`; parts may be in double quotes or backquotes. The
    catalog is ignored, since a connection has only one. ConfigError for any other text."""
    parts, at = [], 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise ConfigError(f"{text!r} is not the name of a table")
        quoted, back, plain = match.groups()
        parts.append(quoted.replace('""', '"') if quoted is not None else plain or back.replace("``", "`"))
        at = match.end()
        if at == len(text):
            break
        if text[at] != "." or len(parts) == 3:
            raise ConfigError(f"{text!r} is not the name of a table")
        at += 1
    return TableId(parts[-2] if len(parts) > 1 else None, parts[-1])


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Which tables a source reads. `include` and `exclude` are regular expressions for complete names, with or without
    the schema; `whitelist` and `blacklist` are names. Empty lists match all tables."""

    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def selected(self, tables: Iterable[TableId]) -> list[TableId]:
        """The selected tables, sorted by name."""
        return sorted((table for table in tables if self._takes(table)), key=lambda table: table.text)

    def missing(self, tables: Iterable[TableId]) -> list[str]:
        """The names of the whitelist that none of these tables has."""
        names = {name for table in tables for name in (table.name, table.text)}
        return [name for name in self.whitelist if _unquoted(name) not in names]

    def _takes(self, table: TableId) -> bool:
        names = (table.name, table.text)
        if self.whitelist and not _named(names, self.whitelist):
            return False
        if self.include and not _matched(names, self.include):
            return False
        return not _named(names, self.blacklist) and not _matched(names, self.exclude)


def _named(names: tuple[str, str], listed: Iterable[str]) -> bool:
    return any(_unquoted(name) in names for name in listed)


def _matched(names: tuple[str, str], patterns: Iterable[str]) -> bool:
    import regex

    return any(any(map(LimitedMatch(text, compiled=regex.compile(text)), names)) for text in patterns)


def _unquoted(name: str) -> str:
    return parse_table(name).text if '"' in name or "`" in name else name


def like(pattern: str | None, name: str) -> bool:
    """Whether a name matches a pattern of JDBC's metadata: % is any text, _ any character; None matches every name."""
    if pattern is None:
        return True
    glob = "".join({"%": "*", "_": "?"}.get(char, f"[{char}]" if char in "*?[" else char) for char in pattern)
    return fnmatchcase(name, glob)  # in linear time, unlike a translation to a regular expression
