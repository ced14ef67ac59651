"""Validation of PostgresCdcSource: errors name the statement that solves them."""

from __future__ import annotations

import pytest

from runtime.connectors.postgres.connector import PostgresCdcSourceConnector
from tests.support.servers.postgres import Postgres, started_postgres
from tests.support.tasks.postgres_cdc import Database


def _errors(config: dict[str, str]) -> dict[str, list[str]]:
    values = PostgresCdcSourceConnector().validate(config)
    return {value.name: value.errors for value in values if value.errors}


def test_a_valid_configuration(database: Database) -> None:
    database.execute("CREATE TABLE items (id int PRIMARY KEY)")
    assert _errors(database.config()) == {}


def test_a_server_that_is_not_reachable(database: Database) -> None:
    """The task reports it; a configuration may be validated before its server exists."""
    assert _errors(database.config(database_port="1")) == {}


def test_a_wrong_password(database: Database) -> None:
    errors = _errors(database.config(database_password="wrong-one"))
    assert "password authentication failed" in errors["database.user"][0]
    assert "wrong-one" not in str(errors)


def test_options(database: Database) -> None:
    config = database.config(
        slot_name="Not valid", skipped_operations="x", table_include_list="((", decimal_handling_mode="some"
    )
    assert set(_errors(config)) == {"slot.name", "skipped.operations", "table.include.list", "decimal.handling.mode"}
    both = database.config(table_include_list="a", table_exclude_list="b")
    assert list(_errors(both)) == ["table.exclude.list"]


def test_tables(database: Database) -> None:
    database.execute("CREATE TABLE plain (id int)")
    assert _errors(database.config(table_include_list="public.none")) == {
        "table.include.list": [
            "No table of the database matches the options table.include.list and schema.include.list"
        ]
    }
    assert _errors(database.config()) == {
        "table.include.list": [
            "public.plain without primary key: PostgreSQL would refuse its updates and deletes once it is published. "
            'Run ALTER TABLE "public"."plain" REPLICA IDENTITY FULL, or exclude the table'
        ]
    }


def test_a_publication(database: Database) -> None:
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    database.execute("CREATE TABLE b (id int PRIMARY KEY)")
    name = database.slot
    disabled = database.config(publication_autocreate_mode="disabled", table_include_list="public.*")
    assert _errors(disabled) == {
        "publication.name": [
            f'The publication {name} does not exist: run CREATE PUBLICATION "{name}" FOR TABLE "public"."a", '
            '"public"."b"'
        ]
    }
    database.execute(f"CREATE PUBLICATION {name} FOR TABLE a")
    assert _errors(disabled) == {
        "table.include.list": [
            f'The publication {name} lacks public.b: run ALTER PUBLICATION "{name}" ADD TABLE "public"."b"'
        ]
    }
    assert _errors(database.config(table_include_list="public.*")) == {}
    database.execute("CREATE TABLE c (id int)")  # PostgreSQL would refuse its updates
    (error,) = _errors(database.config(table_include_list="public.*"))["table.include.list"]
    assert error.startswith("public.c without primary key")


def test_a_user_without_permissions(database: Database) -> None:
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    user = f"user_{database.name}"
    database.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'x'")
    errors = _errors(database.config(database_user=user, database_password="x"))
    assert errors == {
        "database.user": [f'The user {user} may not replicate: run ALTER ROLE "{user}" REPLICATION'],
        "publication.name": [
            f"The user {user} may not create the publication {database.slot}: run CREATE PUBLICATION "
            f'"{database.slot}" FOR TABLE "public"."a", or GRANT CREATE ON DATABASE "{database.name}" TO "{user}"'
        ],
        "snapshot.mode": [f'The user {user} may not read public.a: run GRANT SELECT ON "public"."a" TO "{user}"'],
    }
    database.execute(f"DROP ROLE {user}")


def test_a_slot_of_another_kind(database: Database) -> None:
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    database.execute(f"SELECT pg_create_logical_replication_slot('{database.slot}', 'test_decoding')")
    assert _errors(database.config()) == {
        "slot.name": [f"The slot {database.slot} has the plugin test_decoding, not pgoutput: use another name"]
    }


@pytest.mark.soak
def test_a_server_without_logical_decoding() -> None:
    server: Postgres = started_postgres()
    try:
        database = Database(server)
        database.execute("CREATE TABLE a (id int PRIMARY KEY)")
        assert _errors(database.config()) == {
            "database.hostname": [
                "The server's wal_level is replica: run ALTER SYSTEM SET wal_level = logical, and restart the server"
            ]
        }
    finally:
        server.remove()
