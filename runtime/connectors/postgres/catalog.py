"""What the database's catalog tells about tables, columns and types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Query = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement with parameters; its rows."""


@dataclass(frozen=True, slots=True)
class PgType:
    """A type, with its domain's base. `kind` is pg_type.typtype: b, c, d, e, r or m. `element` is of arrays."""

    oid: int
    name: str
    kind: str
    element: PgType | None = None
    labels: tuple[str, ...] = ()
    modifier: int = -1
    """Of a domain: the modifier of its base, such as precision and scale."""
    is_domain: bool = False


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column as it is now. `default` is an SQL expression, or None."""

    name: str
    type: int
    modifier: int
    is_required: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as it is now. `key` are the columns of its primary key; without one, or if old rows do not have it, those
    of its replica identity's index; without that, of a unique index."""

    schema: str
    name: str
    columns: tuple[CatalogColumn, ...]
    key: tuple[str, ...]


_COLUMNS = """
SELECT a.attname, a.atttypid::int8, a.atttypmod, a.attnotnull,
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END, a.attgenerated = ''
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

_KEY = """
SELECT i.indisprimary, i.indisreplident, array_agg(a.attname::text ORDER BY k.place), bool_and(a.attnotnull)
FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place), pg_attribute a
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND k.place <= i.indnkeyatts AND a.attrelid = i.indrelid AND a.attnum = k.number
GROUP BY i.indexrelid, i.indisprimary, i.indisreplident
ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indexrelid
"""

_TYPE = """
SELECT t.typname, t.typtype::text, t.typbasetype::int8, t.typtypmod, t.typelem::int8, t.typcategory::text,
       array(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t WHERE t.oid = %s
"""

_TABLES = """
SELECT n.nspname, c.relname, c.relreplident::text,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
       has_table_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname <> 'information_schema'
      AND n.nspname NOT LIKE 'pg\\_%%' ORDER BY 1, 2
"""


_MEMBERS = """
WITH listed AS (
    SELECT r.prrelid AS id FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = %s
), every AS (
    SELECT id FROM listed UNION SELECT t.relid FROM listed, pg_partition_tree(id) t
)
SELECT n.nspname, c.relname FROM every JOIN pg_class c ON c.oid = every.id JOIN pg_namespace n ON n.oid = c.relnamespace
UNION SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s
UNION SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'p' AND EXISTS (SELECT 1 FROM pg_partition_tree(c.oid) WHERE isleaf) AND NOT EXISTS (
    SELECT 1 FROM pg_partition_tree(c.oid) t JOIN pg_class l ON l.oid = t.relid
    JOIN pg_namespace ln ON ln.oid = l.relnamespace
    LEFT JOIN pg_publication_tables p ON p.pubname = %s AND p.schemaname = ln.nspname AND p.tablename = l.relname
    WHERE t.isleaf AND p.tablename IS NULL)
"""

_ANCESTORS = """
SELECT n.nspname, c.relname FROM pg_partition_ancestors(to_regclass(%s)) WITH ORDINALITY a(id, place)
JOIN pg_class c ON c.oid = a.id JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY a.place
"""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table of the database, for checks."""

    schema: str
    name: str
    identity: str
    has_key: bool
    is_readable: bool

    @property
    def text(self) -> str:
        """`schema.name`"""
        return f"{self.schema}.{self.name}"

    @property
    def identifies_rows(self) -> bool:
        """Whether PostgreSQL accepts updates and deletes while the table is published."""
        return self.identity in ("f", "i") or (self.identity == "d" and self.has_key)


def tables(query: Query) -> list[TableFacts]:
    """All tables but those of the system, sorted by name."""
    return [TableFacts(*row) for row in query(_TABLES)]


def published(query: Query, publication: str) -> list[tuple[str, str]]:
    """Schema and name of the tables of a publication."""
    statement = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s ORDER BY 1, 2"
    return [(schema, name) for schema, name in query(statement, publication)]


def members(query: Query, publication: str) -> set[tuple[str, str]]:
    """Schema and name of the tables whose changes a publication has: also those that it has as partitions of another
    table, or as a table of which it lists the partitions."""
    return {(schema, name) for schema, name in query(_MEMBERS, publication, publication, publication)}


def ancestors(query: Query, schema: str, name: str) -> list[tuple[str, str]]:
    """Schema and name of the tables of which a table is a partition, the next one first."""
    return [(schema, name) for schema, name in query(_ANCESTORS, f"{quoted(schema)}.{quoted(name)}")][1:]


def is_partitioned(query: Query, name: str) -> bool:
    """Whether the rows of a table are those of its partitions. `name` with its schema, quoted."""
    return bool(query("SELECT 1 FROM pg_class WHERE oid = to_regclass(%s) AND relkind = 'p'", name))


def table(query: Query, schema: str, name: str) -> CatalogTable | None:
    """A table; None if it does not exist any more."""
    regclass = f"{quoted(schema)}.{quoted(name)}"
    rows = query(_COLUMNS, regclass)
    if not rows:
        return None
    columns = tuple(CatalogColumn(*row[:5]) for row in rows if row[5])
    keys = query(_KEY, regclass)
    return CatalogTable(schema, name, columns, _key([(sent, tuple(names)) for _, sent, names, ok in keys if ok]))


def _key(keys: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[str, ...]:
    """Of the columns of unique indexes, the best first; the flag is that of the replica identity. PostgreSQL sends only
    the columns of that index with the old row of an update or delete."""
    first = keys[0][1] if keys else ()
    identity = next((names for is_identity, names in keys if is_identity), None)
    return first if identity is None or set(first) <= set(identity) else identity


def type_of(query: Query, oid: int, known: dict[int, PgType]) -> PgType:
    """A type, with the base of a domain and the element of an array; `known` keeps it for the next call."""
    if oid not in known:
        known[oid] = _read_type(query, oid, known)
    return known[oid]


def _read_type(query: Query, oid: int, known: dict[int, PgType]) -> PgType:
    rows = query(_TYPE, oid)
    if not rows:
        return PgType(oid, "unknown", "b")
    name, kind, base, modifier, element, category, labels = rows[0]
    if kind == "d":
        below = type_of(query, base, known)
        modifier = modifier if modifier >= 0 else below.modifier
        return PgType(oid, below.name, below.kind, below.element, below.labels, modifier, True)
    of = type_of(query, element, known) if category == "A" and element else None
    return PgType(oid, name, kind, of, tuple(labels))


def quoted(name: str) -> str:
    """The name as SQL's delimited identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quoted_names(names: Sequence[tuple[str, str]]) -> str:
    """Tables for a statement."""
    return ", ".join(f"{quoted(schema)}.{quoted(name)}" for schema, name in names)
