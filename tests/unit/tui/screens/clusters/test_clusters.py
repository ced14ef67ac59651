"""Columns of the list of clusters in terminals of several widths."""

from __future__ import annotations

import pytest

from tui.screens.clusters.clusters import COLUMNS
from tui.widgets.columns import arrange

SHORT = {"name": 5, "counts": 21, "url": 22}  # for example `✗ 1 failed  ● 2 running`


@pytest.mark.parametrize(
    ("space", "shown"), [(58, ()), (78, ("last_seen", "kind")), (118, ("last_seen", "kind", "version", "url"))]
)
def test_a_narrow_list_keeps_the_counts_and_drops_the_time_of_the_last_response(
    space: int, shown: tuple[str, ...]
) -> None:
    widths = {column.key: width for column, width in arrange(COLUMNS, SHORT, space)}
    assert tuple(widths)[5:] == shown
    assert widths["counts"] >= 18
