"""Column widths follow the content."""

from __future__ import annotations

from tui.widgets.columns import MINOR, Column, arrange

NAME = Column("name", "NAME", 20, grows=True)
TASKS = Column("tasks", "TASKS", 14, shrinks=True)
LAST = Column("last", "LAST", 10, rank=1)


def widths(wanted: dict[str, int], space: int, *columns: Column) -> dict[str, int]:
    return {column.key: width for column, width in arrange(columns, wanted, space)}


def test_a_column_that_shrinks_leaves_its_room_to_others() -> None:
    assert widths({"name": 40, "tasks": 3}, 40, NAME, TASKS) == {"name": 32, "tasks": 6}
    assert widths({"name": 40, "tasks": 99}, 40, NAME, TASKS) == {"name": 24, "tasks": 14}
    assert widths({"name": 40}, 40, NAME, TASKS) == {"name": 24, "tasks": 14}, "unknown content"


def test_a_column_is_kept_if_others_shrink() -> None:
    assert widths({"tasks": 3}, 40, NAME, TASKS, LAST) == {"name": 20, "tasks": 6, "last": 10}
    assert widths({"tasks": 14}, 40, NAME, TASKS, LAST) == {"name": 20, "tasks": 14}


def test_a_column_for_wide_screens_only() -> None:
    wide = Column("trend", "TREND", 5, floor=50)
    assert widths({}, 40, NAME, wide) == {"name": 20} and widths({}, 60, NAME, wide) == {"name": 20, "trend": 5}


def test_a_minor_column_is_dropped_before_the_first_one_is_cut() -> None:
    minor = Column("class", "CLASS", 10, rank=MINOR)
    assert widths({"name": 38}, 40, NAME, minor) == {"name": 38}
    assert widths({"name": 28}, 40, NAME, minor) == {"name": 28, "class": 10}
    assert widths({"name": 38}, 40, NAME, minor._replace(rank=MINOR - 1)) == {"name": 28, "class": 10}


def test_a_column_becomes_narrow_to_keep_an_important_one() -> None:
    narrow = TASKS._replace(narrow=8)
    assert widths({"tasks": 14}, 42, NAME, narrow, LAST) == {"name": 20, "tasks": 8, "last": 10}
    assert widths({"tasks": 14}, 40, NAME, narrow, LAST._replace(rank=3)) == {"name": 20, "tasks": 14}
    assert widths({"tasks": 14}, 30, NAME, narrow, LAST) == {"name": 20, "tasks": 8}


def test_columns_that_grow_are_cut_if_none_can_be_dropped() -> None:
    columns = (Column("mark", " ", 1), Column("origin", "ORIGIN", 18, grows=True), NAME)
    assert widths({"origin": 12, "name": 40}, 40, *columns) == {"mark": 1, "origin": 18, "name": 17}
    assert widths({"origin": 12, "name": 40}, 20, *columns) == {"mark": 1, "origin": 11, "name": 4}
