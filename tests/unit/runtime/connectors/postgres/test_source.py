"""PostgresCdcSource with a real server: snapshot, changes, restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime.api.data.record import ErrantSourceRecord
from runtime.api.errors import ConnectError
from tests.support.servers.postgres import Postgres, started_postgres
from tests.support.tasks.postgres_cdc import CdcRun, Database, Requests, shown
from tests.support.waiting import wait_until

Start = Callable[..., CdcRun]


@pytest.fixture
def items(database: Database) -> Database:
    database.execute("CREATE TABLE items (id int PRIMARY KEY, name text)")
    return database


def test_rows_and_their_changes(items: Database, run: Start) -> None:
    items.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b')")
    source = run()
    assert [shown(record) for record in source.take(2)] == [
        ("items", "r", (1,), (1, "a")),
        ("items", "r", (2,), (2, "b")),
    ]
    items.execute("INSERT INTO items VALUES (3, 'c')")
    items.execute("UPDATE items SET name = 'B' WHERE id = 2")
    items.execute("DELETE FROM items WHERE id = 1")
    items.execute("UPDATE items SET id = 4 WHERE id = 3")
    assert [shown(record) for record in source.take(7)] == [
        ("items", "c", (3,), (3, "c")),
        ("items", "u", (2,), (2, "B")),
        ("items", "d", (1,), (1, None)),
        ("items", None, (1,)),
        ("items", "d", (3,), (3, None)),
        ("items", None, (3,)),
        ("items", "c", (4,), (4, "c")),
    ]
    assert [record.headers and record.headers[0][::2] for record in source.records[-3:]] == [
        ("__debezium.newkey", {"id": 4}),
        ("__debezium.newkey", {"id": 4}),
        ("__debezium.oldkey", {"id": 3}),
    ]


def test_changes_during_the_snapshot_arrive_once(items: Database, run: Start) -> None:
    """What the rows of the snapshot contain is left out of the stream, which starts before it."""
    items.execute("CREATE TABLE zebras (id int PRIMARY KEY)")
    items.execute("INSERT INTO items SELECT n, 'x' FROM generate_series(1, 10) n")
    items.execute(f"CREATE PUBLICATION {items.slot} FOR ALL TABLES")
    items.execute(f"SELECT pg_create_logical_replication_slot('{items.slot}', 'pgoutput')")
    items.execute("INSERT INTO items VALUES (11, 'in both')")
    source = run(max_batch_size="5")
    source.until(lambda: len(source.records) == 5)
    items.execute("INSERT INTO items VALUES (12, 'in the stream')")
    items.execute("INSERT INTO zebras VALUES (1)")
    source.take(8)
    assert [shown(record)[:3] for record in source.records] == [
        *[("items", "r", (number,)) for number in range(1, 12)],
        ("items", "c", (12,)),
        ("zebras", "c", (1,)),
    ]


def test_a_transaction_that_a_restart_has_cut_is_continued(items: Database, run: Start) -> None:
    """From each of its records, also within the three of a row whose key was changed."""
    first = run()
    first.streaming()
    items.execute(
        "BEGIN; INSERT INTO items VALUES (1, 'a'), (2, 'b'); UPDATE items SET id = 3 WHERE id = 1; "
        "DELETE FROM items; COMMIT"
    )
    items.execute("INSERT INTO items VALUES (9, 'z')")
    complete = [shown(record) for record in first.take(10)]
    first.stop()
    for number, record in enumerate(first.records):
        items.committed = record.source_offset
        again = run().streaming()
        _read_to(again, left=complete[number + 1 :])
        again.stop()


def _read_to(source: CdcRun, left: list[tuple[object, ...]]) -> None:
    source.until(lambda: len(source.records) >= len(left))
    assert [shown(record) for record in source.records] == left


def test_rows_of_one_position_are_told_apart(items: Database, run: Start) -> None:
    """COPY writes many rows in one record of the log."""
    first = run(max_batch_size="10").streaming()
    items.execute("INSERT INTO items SELECT n, 'x' FROM generate_series(1, 30) n")
    import psycopg

    connection = psycopg.connect(items.server.conninfo(items.name))
    with connection, connection.cursor().copy("COPY items FROM STDIN") as copy:
        for number in range(31, 61):
            copy.write_row((number, "y"))
    first.until(lambda: len(first.records) == 60)
    first.stop()
    positions = {(record.source_offset or {})["lsn"] for record in first.records[30:]}
    assert len(positions) < 30
    items.committed = first.records[44].source_offset
    again = run()
    assert [record.key["id"] for record in again.take(15)] == list(range(46, 61))


def test_an_interrupted_snapshot_reads_the_tables_that_are_left(items: Database, run: Start) -> None:
    items.execute("CREATE TABLE zebras (id int PRIMARY KEY)")
    items.execute("INSERT INTO items VALUES (1, 'a'), (2, 'b')")
    items.execute("INSERT INTO zebras VALUES (1), (2)")
    first = run(max_batch_size="1")
    first.until(lambda: len(first.records) == 3)
    first.commit(first.records[1])
    first.stop()
    items.execute("UPDATE items SET name = 'A' WHERE id = 1")
    items.execute("INSERT INTO zebras VALUES (3)")
    again = run()
    again.take(4)
    items.execute("INSERT INTO zebras VALUES (4)")
    again.take(1)
    assert sorted(shown(record)[:3] for record in again.records) == [
        ("items", "u", (1,)),
        ("zebras", "c", (4,)),
        *[("zebras", "r", (number,)) for number in (1, 2, 3)],
    ]


@pytest.mark.parametrize("interrupt", ["pg_terminate_backend", "pg_cancel_backend"])  # the latter as statement_timeout
def test_a_snapshot_that_is_interrupted_before_its_first_row_is_read(
    items: Database, run: Start, interrupt: str
) -> None:
    import psycopg

    items.execute("INSERT INTO items VALUES (1, 'a')")
    items.execute("CREATE PUBLICATION ours FOR TABLE items")
    items.execute(f"SELECT pg_create_logical_replication_slot('{items.slot}', 'pgoutput')")
    source = run(publication_name="ours")
    waiting = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE%SHARE MODE' AND wait_event = 'relation'"
    with psycopg.connect(items.server.conninfo(items.name)) as other:
        other.execute("LOCK TABLE items")
        with ThreadPoolExecutor(1) as pool:
            polls = pool.submit(source.take, 1)
            wait_until(lambda: bool(items.execute(waiting)), 20, "the snapshot waits for the lock")
            items.cut_off(interrupt)
            other.rollback()
            assert [shown(record) for record in polls.result()] == [("items", "r", (1,), (1, "a"))]


def test_a_snapshot_in_a_transaction_starts_again(items: Database, run: Start) -> None:
    """The table in which the snapshot was interrupted is read again, and would be in the transaction twice."""
    items.execute("INSERT INTO items SELECT n, 'x' FROM generate_series(1, 9) n")
    requests = Requests()
    source = run(requests, max_batch_size="2")
    source.until(lambda: len(source.records) == 4)
    items.cut_off()
    source.until(lambda: requests.aborts == 1)
    assert requests.ends == []
    source.records.clear()
    restarted = source.added[-1]
    source.take(9)
    assert requests.ends == [None] and requests.aborts == 1
    source.stop()
    items.committed = restarted  # a restart after the abort, before the snapshot has been committed
    run(Requests()).take(9)


def test_the_server_keeps_what_is_not_committed(items: Database, run: Start) -> None:
    source = run().streaming()
    before = items.confirmed()
    items.execute("INSERT INTO items VALUES (1, 'a')")
    source.take(1)
    source.task.commit()
    assert items.confirmed() == before

    def is_confirmed() -> bool:
        source.commit()
        return items.committed is not None and items.confirmed() == items.committed["lsn_commit"]

    source.until(is_confirmed, "confirmed_flush_lsn is the committed one")


def test_the_slot_advances_while_its_tables_are_quiet(items: Database, run: Start) -> None:
    items.execute("CREATE TABLE busy (id int)")
    source = run(table_include_list="public.items").streaming()
    before = items.confirmed()
    items.execute("INSERT INTO busy SELECT generate_series(1, 1000)")

    def advanced() -> bool:
        if source.added:
            source.commit()
        return items.confirmed() > before + 50_000

    source.until(advanced, "confirmed_flush_lsn advances")


def test_a_toasted_value_that_was_not_changed(items: Database, run: Start) -> None:
    items.execute("ALTER TABLE items ALTER COLUMN name SET STORAGE EXTERNAL")
    items.execute("CREATE TABLE whole (id int PRIMARY KEY, name text, n int)")
    items.execute("ALTER TABLE whole ALTER COLUMN name SET STORAGE EXTERNAL")
    items.execute("ALTER TABLE whole REPLICA IDENTITY FULL")
    items.execute("INSERT INTO items VALUES (1, repeat('x', 10000))")
    items.execute("INSERT INTO whole VALUES (1, repeat('x', 10000), 1)")
    source = run()
    source.take(2)
    items.execute("UPDATE items SET id = 2")
    items.execute("UPDATE whole SET n = 2")
    rows = [record.value["after"] for record in source.take(4) if record.value and record.value["after"]]
    assert rows == [
        {"id": 2, "name": "__debezium_unavailable_value"},
        {"id": 1, "name": "x" * 10_000, "n": 2},
    ]


def test_an_unchanged_large_value_of_an_array_is_a_placeholder_or_a_warning(
    items: Database, run: Start, caplog: pytest.LogCaptureFixture
) -> None:
    items.execute("ALTER TABLE items ADD n int, ADD f float8[], ADD t timestamp[], ADD b boolean[]")
    for name in "ftb":
        items.execute(f"ALTER TABLE items ALTER COLUMN {name} SET STORAGE EXTERNAL")
    many = "FROM generate_series(1, 3000) n)"
    items.execute(f"INSERT INTO items (id, f, t) VALUES (1, array(SELECT n / 7.0 {many}, array(SELECT now() {many})")
    items.execute(f"INSERT INTO items (id, b) VALUES (2, array(SELECT true {many})")
    source = run()
    source.take(2)
    items.execute("UPDATE items SET n = 1 WHERE id = 1")
    items.execute("UPDATE items SET n = 1 WHERE id = 2")
    items.execute("UPDATE items SET n = 2 WHERE id = 2")
    changed, *without = source.take(3)
    placeholder = list(b"__debezium_unavailable_value")
    assert changed.value["after"] == {"id": 1, "name": None, "n": 1, "f": placeholder, "t": placeholder, "b": None}
    assert [(record.value["after"]["n"], record.value["after"]["b"]) for record in without] == [(1, None), (2, None)]
    (warning,) = [line for line in caplog.messages if "large values" in line]
    assert "public.items.b" in warning and "ALTER TABLE public.items REPLICA IDENTITY FULL" in warning


def test_columns_of_unknown_types_are_left_out_with_a_warning(
    items: Database, run: Start, caplog: pytest.LogCaptureFixture
) -> None:
    items.execute("ALTER TABLE items ADD area box, ADD spans int4multirange")
    items.execute("INSERT INTO items VALUES (1, 'a', '(1,1),(0,0)')")
    source = run()
    source.take(1)
    items.execute("UPDATE items SET name = 'b'")
    source.take(1)
    assert [record.value["after"] for record in source.records] == [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]
    warning = "Columns of unknown types are left out, unless include.unknown.datatypes=true: public.items: "
    assert [line for line in caplog.messages if "unknown" in line] == [f"{warning}area (box), spans (int4multirange)"]


def test_truncate(items: Database, run: Start) -> None:
    source = run(skipped_operations="none").streaming()
    items.execute("TRUNCATE items")
    assert [shown(record) for record in source.take(1)] == [("items", "t", (), None)]


def test_a_table_that_changes_between_two_rows(items: Database, run: Start) -> None:
    source = run().streaming()
    items.execute("INSERT INTO items VALUES (1, 'a')")
    items.execute("ALTER TABLE items ADD COLUMN price numeric(6,2) NOT NULL DEFAULT 5")
    items.execute("INSERT INTO items VALUES (2, 'b', 1.5)")
    items.execute("ALTER TABLE items DROP COLUMN name")
    items.execute("INSERT INTO items VALUES (3, 2)")
    rows = [record.value["after"] for record in source.take(3)]
    assert [list(row) for row in rows] == [["id", "name"], ["id", "name", "price"], ["id", "price"]]
    schema = source.records[2].value_schema
    assert schema is not None
    after = schema.field("after")
    assert after is not None
    price = after.field("price")
    assert price is not None
    assert (price.optional, str(price.default), price.parameter("scale")) == (False, "5.00", "2")


def test_transactions(items: Database, run: Start) -> None:
    """With transaction.boundary=connector, one in Kafka ends where one of PostgreSQL does."""
    requests = Requests()
    source = run(requests, provide_transaction_metadata="true", max_batch_size="2").streaming()
    requests.ends.clear()
    items.execute("INSERT INTO items SELECT n, 'x' FROM generate_series(1, 5) n")
    source.take(7)
    begin, *changes, end = source.records
    assert (begin.value["status"], end.value["status"], end.value["event_count"]) == ("BEGIN", "END", 5)
    assert end.value["data_collections"] == [{"data_collection": "public.items", "event_count": 5}]
    assert [change.value["transaction"]["total_order"] for change in changes] == [1, 2, 3, 4, 5]
    assert [record for record in requests.ends if record is not None] == [end]


def test_a_value_without_a_schema_is_an_errant_record(items: Database, run: Start) -> None:
    items.execute("ALTER TABLE items ADD COLUMN n numeric(5,2)")
    items.execute("INSERT INTO items VALUES (1, 'a', 'NaN'), (2, 'b', 2)")
    source = run()
    errant, row = source.take(2)
    assert isinstance(errant, ErrantSourceRecord)
    assert str(errant.error) == (
        "The column n of public.items has a value that cannot be converted: NaN has no Decimal in Connect; "
        "decimal.handling.mode=double keeps it"
    )
    assert shown(row)[1:3] == ("r", (2,))


def test_heartbeats(items: Database, run: Start) -> None:
    items.execute("CREATE TABLE beats (at timestamptz)")
    source = run(
        heartbeat_interval_ms="50", heartbeat_action_query="INSERT INTO beats VALUES (now())",
        table_include_list="public.items",
    )  # fmt: skip
    source.until(lambda: len(source.records) >= 3)
    assert {record.topic for record in source.records} == {f"__debezium-heartbeat.{items.name}"}
    assert source.records[0].key == {"serverName": items.name}
    assert items.execute("SELECT count(*) >= 3 FROM beats") == [(True,)]


def test_a_heartbeat_goes_on_after_its_query_has_failed(
    items: Database, run: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning for all failures of a while; a transaction that the query began does not stay open."""
    source = run(heartbeat_interval_ms="50", heartbeat_action_query="BEGIN; INSERT INTO beats VALUES (1)")
    source.until(lambda: len(source.records) >= 3)
    assert [r.getMessage() for r in caplog.records if "heartbeat.action.query" in r.getMessage()] == [
        "The query of heartbeat.action.query failed: The statement failed: BEGIN; INSERT INTO beats VALUES (1): "
        'relation "beats" does not exist LINE 1: BEGIN; INSERT INTO beats VALUES (1) ^'
    ]


def test_transactions_of_the_connector_do_not_stay_open(items: Database, run: Start) -> None:
    """Those of heartbeats and of offsets without records end at once."""
    requests = Requests()
    source = run(requests, heartbeat_interval_ms="50").streaming()
    source.until(lambda: len(source.records) >= 2 and bool(source.added))
    assert source.records[0] in requests.ends
    assert None in requests.ends


def test_a_dropped_slot_is_an_error(items: Database, run: Start) -> None:
    source = run().streaming()
    items.execute("INSERT INTO items VALUES (1, 'a')")
    source.take(1)
    source.commit()
    source.stop()
    items.close()
    with pytest.raises(ConnectError, match=r"does not exist any more.*reset the connector's offsets"):
        run().take(1)


def test_offsets_before_what_the_server_has_kept_are_an_error(items: Database, run: Start) -> None:
    source = run().streaming()
    source.stop()
    items.committed = {"lsn_commit": 1000}
    with pytest.raises(ConnectError, match="The server has discarded changes: the committed offset is 0/3E8"):
        run().take(1)


def test_a_slot_in_use(items: Database, run: Start) -> None:
    run().streaming()
    items.committed = {"lsn_commit": items.confirmed()}
    with pytest.raises(ConnectError, match=r"is active for PID .* Another connector or program reads the slot"):
        other = run(slot_max_retries="2")
        other.until(lambda: False)


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    server = started_postgres({"wal_level": "logical"})
    yield server
    server.remove()


def test_a_server_that_restarts(own_server: Postgres) -> None:
    """The task connects again and continues behind the last record."""
    database = Database(own_server)
    database.execute("CREATE TABLE items (id int PRIMARY KEY, name text)")
    source = CdcRun(database).streaming()
    database.execute("CREATE TABLE later (id int PRIMARY KEY)")
    database.execute("INSERT INTO items VALUES (1, 'a')")
    source.take(1)
    own_server.stop()
    for _ in range(3):
        assert source.poll() == []
    own_server.start()
    database.execute("INSERT INTO items VALUES (2, 'b')")
    assert [shown(record)[1:3] for record in source.take(1)] == [("c", (2,))]
    source.stop()
