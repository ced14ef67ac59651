"""PostgresCdcSource with a real server: tables that are rewritten, partitioned, new, or identify rows by an index."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from runtime.api.errors import ConnectError
from tests.support.tasks.postgres_cdc import CdcRun, Database, shown
from tests.support.waiting import wait_until

Start = Callable[..., CdcRun]


def test_a_table_that_alter_table_rewrites_during_the_snapshot_keeps_its_rows(database: Database, run: Start) -> None:
    """PostgreSQL shows an empty table to a transaction that began before."""
    database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    database.execute("INSERT INTO a SELECT * FROM generate_series(1, 1500)")
    database.execute("CREATE TABLE z (id int PRIMARY KEY, n int)")
    database.execute("INSERT INTO z SELECT n, n FROM generate_series(1, 100) n")
    source = run(max_batch_size="100")
    source.until(lambda: len(source.records) > 100)
    statement = "ALTER TABLE z ALTER COLUMN n TYPE bigint"
    rewriting = threading.Thread(target=database.execute, args=(statement,), daemon=True)
    rewriting.start()
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'z'::regclass"
    wait_until(lambda: database.execute(waiting) or not rewriting.is_alive(), 10, "the statement waits")
    source.streaming()
    rewriting.join(30)
    assert sum(record.topic.endswith(".z") for record in source.records) == 100


@pytest.mark.parametrize("pattern", [r"public\.orders", r"public\..*", None])
def test_partitions_of_a_selected_table_are_read(database: Database, run: Start, pattern: str | None) -> None:
    more = {} if pattern is None else {"table_include_list": pattern}
    database.execute("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    partition = "CREATE TABLE orders_{0} PARTITION OF orders FOR VALUES FROM ('2026-0{0}-01') TO ('2026-0{0}-28')"
    database.execute(partition.format(1))
    database.execute("INSERT INTO orders VALUES (1, '2026-01-05')")
    source = run(**more).streaming()
    database.execute("INSERT INTO orders VALUES (2, '2026-01-06')")
    source.until(lambda: len(source.records) == 2)
    source.commit(source.records[-1])
    source.stop()
    again = run(**more).streaming()
    database.execute(partition.format(2))
    database.execute("INSERT INTO orders VALUES (3, '2026-02-06')")
    again.take(1)
    topics = [record.topic.removeprefix(f"{database.name}.") for record in source.records + again.records]
    assert topics == ["public.orders_1", "public.orders_1", "public.orders_2"]


def test_excluded_partitions_are_not_read(database: Database, run: Start) -> None:
    database.execute("CREATE TABLE orders (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    for part in (1, 2):
        database.execute(f"CREATE TABLE o{part} PARTITION OF orders FOR VALUES FROM ({part}) TO ({part + 1})")
    database.execute("INSERT INTO orders VALUES (1), (2)")
    source = run(table_exclude_list=r"public\.o2").streaming()
    assert [record.key for record in source.records] == [{"id": 1}]


def test_rows_of_an_inheriting_table_are_not_those_of_its_parent(database: Database, run: Start) -> None:
    database.execute("CREATE TABLE parent (id int PRIMARY KEY)")
    database.execute("CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent)")
    database.execute("INSERT INTO parent VALUES (1)")
    database.execute("INSERT INTO child VALUES (2)")
    source = run().streaming()
    assert sorted((record.topic.rpartition(".")[2], record.key["id"]) for record in source.records) == [
        ("child", 2), ("parent", 1),
    ]  # fmt: skip


def test_old_rows_have_the_key_if_an_index_identifies_them(database: Database, run: Start) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL UNIQUE)")
    database.execute("ALTER TABLE t REPLICA IDENTITY USING INDEX t_code_key")
    database.execute("INSERT INTO t VALUES (5, 'a'), (6, 'c')")
    source = run().streaming()
    database.execute("UPDATE t SET code = 'b' WHERE id = 5")
    database.execute("DELETE FROM t WHERE id = 6")
    source.until(lambda: len(source.records) == 7)
    assert [(record.key["code"], shown(record)[1]) for record in source.records] == [
        ("a", "r"), ("c", "r"), ("a", "d"), ("a", None), ("b", "c"), ("c", "d"), ("c", None),
    ]  # fmt: skip


def test_new_tables_are_read_after_a_restart(database: Database, run: Start, caplog: pytest.LogCaptureFixture) -> None:
    """Except those of which PostgreSQL would refuse updates."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    source = run().streaming()
    source.stop()
    database.execute("CREATE TABLE fresh (id int PRIMARY KEY)")
    database.execute("CREATE TABLE anonymous (id int)")
    source = run().streaming()
    database.execute("INSERT INTO fresh VALUES (1)")
    assert [record.topic for record in source.take(1)] == [f"{database.name}.public.fresh"]
    assert "Not read: public.anonymous without primary key" in caplog.text


def test_another_users_publication_is_not_changed(
    database: Database, run: Start, caplog: pytest.LogCaptureFixture
) -> None:
    role = f"owner_{database.name}"
    for statement in (
        f"CREATE ROLE {role} SUPERUSER", "CREATE TABLE t (id int PRIMARY KEY)",
        "CREATE TABLE other (id int PRIMARY KEY)", f"CREATE PUBLICATION headrace_{database.name} FOR TABLE t",
        f"ALTER PUBLICATION headrace_{database.name} OWNER TO {role}",
    ):  # fmt: skip
        database.execute(statement)
    run(publication_name=f"headrace_{database.name}").streaming()
    assert "lacks public.other: run ALTER PUBLICATION" in caplog.text
    assert len(database.execute("SELECT 1 FROM pg_publication_tables")) == 1


def test_positions_behind_the_end_of_the_log_are_refused(database: Database, run: Start) -> None:
    """The server would discard all changes up to there."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    source = run().streaming()
    source.stop()
    confirmed = database.confirmed()
    database.committed = {"lsn_commit": confirmed * 1000}
    ahead = run()
    with pytest.raises(ConnectError, match=r"and the server's log ends at .*: set lsn_commit to a position in its log"):
        ahead.until(lambda: False)
    ahead.stop()
    assert database.confirmed() == confirmed
    database.committed = {"lsn_commit": confirmed}
    source = run().streaming()
    database.execute("INSERT INTO t VALUES (1)")
    source.take(1)
