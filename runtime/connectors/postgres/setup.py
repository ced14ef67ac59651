"""What the server needs before changes can be read: settings, permissions, publication and slot.

Each error names the statement with which an administrator solves it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.api.errors import ConnectError, RetriableError
from runtime.connectors.postgres import catalog
from runtime.connectors.postgres.catalog import Query, TableFacts, quoted, quoted_names
from runtime.connectors.postgres.connection import HOST
from runtime.connectors.postgres.definition import (
    AUTOCREATE,
    DATABASE,
    PUBLICATION,
    SLOT,
    SNAPSHOT,
    TABLES,
    USER,
    CdcSettings,
)
from runtime.connectors.postgres.modes import Autocreate
from runtime.connectors.postgres.selection import TableSelection
from runtime.connectors.postgres.session import Session
from runtime.connectors.postgres.wire.lsn import parse_lsn

_log = logging.getLogger(__name__)

_SERVER = """
SELECT current_setting('wal_level'), r.rolsuper OR r.rolreplication OR EXISTS (
         SELECT 1 FROM pg_roles g WHERE g.rolname IN ('rds_replication', 'rds_superuser', 'azure_pg_admin')
         AND pg_has_role(g.oid, 'MEMBER')),
       current_setting('server_version_num')::int, current_user, pg_is_in_recovery(),
       has_database_privilege(current_database(), 'CREATE')
FROM pg_roles r WHERE r.rolname = current_user
"""
_OLDEST = 120000
_SLOW = 3.0  # seconds after which a wait is reported


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why the connector cannot work, and the option that it concerns."""

    option: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplicationSlot:
    """A replication slot. `confirmed` is the position to which changes may be discarded already."""

    confirmed: int
    is_lost: bool
    plugin: str
    database: str


def problems(settings: CdcSettings, query: Query) -> Iterator[Problem]:
    """Everything that prevents the connector from reading changes."""
    rows = query(_SERVER)
    level, may_replicate, version, user, _, may_create = rows[0]
    if version < _OLDEST:
        yield Problem(HOST, "The server is older than PostgreSQL 12, the first that is supported")
        return
    if level != "logical":
        yield Problem(
            HOST,
            f"The server's wal_level is {level}: run ALTER SYSTEM SET wal_level = logical, and restart the server",
        )
    if not may_replicate:
        yield Problem(USER, f"The user {user} may not replicate: run ALTER ROLE {quoted(user)} REPLICATION")
    slot = read_slot(query, settings.slot)
    if slot is not None:
        yield from _slot_problems(settings, slot)
    yield from _table_problems(settings, query, may_create, user)


def _slot_problems(settings: CdcSettings, slot: ReplicationSlot) -> Iterator[Problem]:
    if slot.plugin != "pgoutput":
        yield Problem(SLOT, f"The slot {settings.slot} has the plugin {slot.plugin}, not pgoutput: use another name")
    if slot.database != settings.server.database:
        yield Problem(
            SLOT,
            f"The slot {settings.slot} belongs to the database {slot.database}, and {DATABASE} is "
            f"{settings.server.database}: use another name",
        )
    if slot.is_lost:
        yield Problem(
            SLOT,
            f"The server has discarded changes that the slot {settings.slot} needs (max_slot_wal_keep_size): run "
            f"SELECT pg_drop_replication_slot('{settings.slot}'), and reset the connector's offsets to take a new "
            "snapshot",
        )


def _table_problems(settings: CdcSettings, query: Query, may_create: bool, user: str) -> Iterator[Problem]:
    selection = TableSelection(settings.filters)
    selected = [table for table in catalog.tables(query) if selection.takes_table(table.schema, table.name)]
    if not selected and selection.is_limited:
        yield Problem(TABLES, "No table of the database matches the options table.include.list and schema.include.list")
        return
    exists, everything = _publication(query, settings.publication)
    published = catalog.members(query, settings.publication) if exists else set()
    if not exists:
        yield from _new_publication_problems(settings, selected, may_create, user)
    elif selection.is_limited and not everything:
        missing = [table for table in selected if (table.schema, table.name) not in published]
        if missing and settings.autocreate is not Autocreate.FILTERED:
            yield Problem(TABLES, _not_published(settings, missing))
        elif anonymous := [table for table in missing if not table.identifies_rows]:
            yield Problem(TABLES, without_identity(anonymous))
    unreadable = [table.text for table in selected if not table.is_readable]
    if unreadable and settings.snapshot.reads and (not exists or published):
        names = quoted_names([(t.schema, t.name) for t in selected if not t.is_readable])
        yield Problem(
            SNAPSHOT,
            f"The user {user} may not read {', '.join(unreadable[:5])}: run GRANT SELECT ON {names} TO {quoted(user)}",
        )


def _new_publication_problems(
    settings: CdcSettings, selected: list[TableFacts], may_create: bool, user: str
) -> Iterator[Problem]:
    statement = create_statement(settings, selected)
    if settings.autocreate is Autocreate.DISABLED:
        yield Problem(PUBLICATION, f"The publication {settings.publication} does not exist: run {statement}")
        return
    if not may_create:
        yield Problem(
            PUBLICATION,
            f"The user {user} may not create the publication {settings.publication}: run {statement}, or "
            f"GRANT CREATE ON DATABASE {quoted(settings.server.database)} TO {quoted(user)}",
        )
    anonymous = [table for table in selected if not table.identifies_rows]
    if anonymous and settings.autocreate is Autocreate.FILTERED:
        yield Problem(TABLES, without_identity(anonymous))


def without_identity(tables: list[TableFacts]) -> str:
    """The error for tables of which PostgreSQL would refuse updates and deletes."""
    names = ", ".join(table.text for table in tables[:5])
    statements = "; ".join(
        f"ALTER TABLE {quoted_names([(table.schema, table.name)])} REPLICA IDENTITY FULL" for table in tables[:5]
    )
    return (
        f"{names} without primary key: PostgreSQL would refuse its updates and deletes once it is published. Run "
        f"{statements}, or exclude the table"
    )


def _not_published(settings: CdcSettings, missing: list[TableFacts]) -> str:
    names = quoted_names([(table.schema, table.name) for table in missing])
    return (
        f"The publication {settings.publication} lacks {', '.join(table.text for table in missing[:5])}: run "
        f"ALTER PUBLICATION {quoted(settings.publication)} ADD TABLE {names}"
    )


def create_statement(settings: CdcSettings, selected: list[TableFacts]) -> str:
    """The statement that creates the publication."""
    name = quoted(settings.publication)
    if settings.autocreate is Autocreate.ALL_TABLES or not selected:
        return f"CREATE PUBLICATION {name} FOR ALL TABLES"
    return f"CREATE PUBLICATION {name} FOR TABLE {quoted_names([(table.schema, table.name) for table in selected])}"


def _publication(query: Query, name: str) -> tuple[bool, bool]:
    """Whether it exists, and whether it has all tables."""
    rows = query("SELECT puballtables FROM pg_publication WHERE pubname = %s", name)
    return bool(rows), bool(rows and rows[0][0])


def ensure_publication(settings: CdcSettings, session: Session) -> None:
    """Creates the publication, or adds tables that the options select; ConnectError if that is not allowed."""
    query, selection = session.query, TableSelection(settings.filters)
    selected = [table for table in catalog.tables(query) if selection.takes_table(table.schema, table.name)]
    exists, everything = _publication(query, settings.publication)
    if not exists:
        if settings.autocreate is Autocreate.DISABLED:
            raise ConnectError(
                f"The publication {settings.publication} does not exist, and {AUTOCREATE} is disabled: run "
                f"{create_statement(settings, selected)}"
            )
        if settings.autocreate is Autocreate.FILTERED:
            if not selected:
                raise ConnectError("The options select no table of the database, so that nothing can be published")
            anonymous = [table for table in selected if not table.identifies_rows]
            if anonymous:
                raise ConnectError(without_identity(anonymous))
        _run(query, create_statement(settings, selected))
        _log.info("Created the publication %s", settings.publication)
        return
    if everything:
        return
    published = catalog.members(query, settings.publication)
    missing = [table for table in selected if (table.schema, table.name) not in published]
    if missing:
        _add_missing(settings, query, missing, selection.is_limited)


def _add_missing(settings: CdcSettings, query: Query, missing: list[TableFacts], is_selected: bool) -> None:
    """Adds tables to the publication. Without options that select them, only to a publication of this user, and only
    those of which updates stay possible; the others are reported."""
    may_add = settings.autocreate is Autocreate.FILTERED and (is_selected or _is_own(query, settings.publication))
    if not may_add and is_selected:
        raise ConnectError(_not_published(settings, missing))
    if not may_add:
        _log.warning("%s; until then their changes are not read", _not_published(settings, missing))
        return
    added = [table for table in missing if table.identifies_rows]
    if anonymous := [table for table in missing if not table.identifies_rows]:
        _log.warning("Not read: %s", without_identity(anonymous))
    if added:
        names = quoted_names([(table.schema, table.name) for table in added])
        _run(query, f"ALTER PUBLICATION {quoted(settings.publication)} ADD TABLE {names}")
        _log.info("Added to the publication %s: %s", settings.publication, names)


def _is_own(query: Query, publication: str) -> bool:
    """Whether the publication belongs to this user."""
    return bool(query("SELECT 1 FROM pg_publication WHERE pubname = %s AND pg_get_userbyid(pubowner) = current_user",
                      publication))  # fmt: skip


def _run(query: Query, statement: str) -> None:
    try:
        query(statement)
    except RetriableError:
        raise
    except ConnectError as error:
        reason = str(error).rpartition(": ")[2]
        raise ConnectError(f"{reason}; run this statement as a user who may do so: {statement}") from None


def log_end(query: Query) -> int:
    """The end of the server's log: no change is behind it."""
    ((lsn,),) = query(
        "SELECT CASE WHEN pg_is_in_recovery() THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) "
        "ELSE pg_current_wal_flush_lsn() END::text"
    )
    return parse_lsn(lsn)


def read_slot(query: Query, name: str) -> ReplicationSlot | None:
    """A slot; None if it does not exist."""
    rows = query(
        "SELECT confirmed_flush_lsn::text, to_jsonb(s) ->> 'wal_status' = 'lost', plugin::text, database::text "
        "FROM pg_replication_slots s WHERE slot_name = %s",
        name,
    )
    if not rows:
        return None
    confirmed, lost, plugin, database = rows[0]
    return ReplicationSlot(parse_lsn(confirmed) if confirmed else 0, bool(lost), plugin or "", database or "")


def creating_slot(session: Session, name: str) -> Iterator[None]:
    """Creates a slot. The server waits for the transactions that are open; None is yielded meanwhile."""
    from psycopg import pq

    connection = session.connection.pgconn
    connection.send_query(f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')".encode())
    report_at, reported = time.monotonic() + _SLOW, False
    while True:
        connection.consume_input()
        if not connection.is_busy():
            break
        yield None
        if not reported and time.monotonic() > report_at:
            _log.info("The server waits for open transactions to end before it creates the slot %s", name)
            reported = True
    failure = ""
    while (result := connection.get_result()) is not None:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            failure = " ".join((result.error_message or b"").decode("utf-8", "replace").split())
    if failure:
        raise ConnectError(
            f"The slot {name} cannot be created: {failure}. To create it as another user, run SELECT "
            f"pg_create_logical_replication_slot('{name}', 'pgoutput')"
        )
    _log.info("Created the slot %s", name)
