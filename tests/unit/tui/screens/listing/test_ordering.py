"""Orders of the connector list, and their file."""

from __future__ import annotations

from pathlib import Path

from tests.unit.tui.screens.builders import connector, snapshot
from tui.metrics.failure_rate import FailureRate
from tui.metrics.progress import ConnectorProgress
from tui.model import Connector
from tui.screens.listing.ordering import DEFAULT, ListFacts, ListOrder, load, of_column, of_words, store
from tui.screens.listing.rows import Rows

NOW = 1000.0
SOME = (
    connector("a", tasks=("RUNNING", "FAILED")),
    connector("b"),
    connector("c"),
    connector("d"),
    connector("e", tasks=("FAILED", "FAILED")),
)
FACTS = ListFacts(
    snapshot(*SOME)._replace(since={"b": 10.0, "d": 900.0}),
    {
        "b": ConnectorProgress(lag=5),
        "c": ConnectorProgress(age_ms=9000),
        "d": ConnectorProgress(lag=700, failing=FailureRate(2.0, False, NOW)),
    },
    lambda name, now: {"b": 0.0, "c": 12.5}.get(name),
    NOW,
)


def order_of(text: str) -> str:
    rows, order = Rows(), of_words(text)
    assert order is not None
    rows.update({one.name: one for one in SOME})
    return "".join(rows.chosen(None, order, FACTS)[0])


def test_each_order() -> None:
    assert order_of("state") == "aebcd" and order_of("state reverse") == "dcbea"
    assert order_of("name") == "abcde" and order_of("-name") == "edcba"
    assert order_of("lag") == "dbcae", "sinks by lag, then sources by age, unknown last"
    assert order_of("throughput") == "cbaed"
    assert order_of("since") == "dbaec", "the latest change first"
    assert order_of("failures") == "eadbc"


def test_unknown_values_stay_last_in_the_reverse_order() -> None:
    assert order_of("lag reverse") == "cbdae"


def test_the_same_order_again_is_reversed() -> None:
    assert DEFAULT.then("lag") == ListOrder("lag") and DEFAULT.then("lag").then("lag") == ListOrder("lag", True)
    assert ListOrder("lag", True).then("lag") == ListOrder("lag") and of_words("speed") is None


def test_headings_select_orders() -> None:
    assert [of_column(key) for key in ("name", "progress", "rate", "trend", "tasks", "class")] == [
        *("name", "lag", "throughput", "throughput", "failures", "")
    ]


def test_the_order_is_kept_for_each_cluster(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    assert load("prod", environ) == DEFAULT
    store("prod", ListOrder("lag", True), environ)
    store("test", ListOrder("name"), environ)
    assert load("prod", environ) == ListOrder("lag", True) and load("test", environ) == ListOrder("name")
    store("prod", DEFAULT, environ)
    assert load("prod", environ) == DEFAULT and load("test", environ) == ListOrder("name")
    (tmp_path / "headrace" / "orders.json").write_text("[")
    assert load("test", environ) == DEFAULT


def test_several_orders() -> None:
    order = of_words("worker -lag")
    assert order is not None and order.levels == (("worker", False), ("lag", True)) and of_words(order.text) == order
    assert of_words("worker nothing") is None
    rows = Rows()
    some = [("a", "w2", 1), ("b", "w1", 5), ("c", "w1", 9), ("d", "w2", None)]
    rows.update({name: Connector(name, state="RUNNING", worker=worker) for name, worker, _ in some})
    facts = ListFacts(progress={name: ConnectorProgress(lag=lag) for name, _, lag in some if lag is not None})
    assert rows.chosen(None, order, facts)[0] == ["b", "c", "a", "d"]
    assert rows.chosen(None, of_words("-worker lag") or order, facts)[0] == ["a", "d", "c", "b"]
