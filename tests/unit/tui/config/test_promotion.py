"""Values and names for another cluster."""

from __future__ import annotations

from tui.config.promotion import PromotionMapping


def test_texts_are_replaced_in_one_pass_the_longest_first() -> None:
    mapping = PromotionMapping({"blue": "green", "green": "blue"}, {"db": "db-2", "db-staging": "db-prod", ".": "_"})
    assert mapping.name("blue-green") == "green-blue"
    assert mapping.config({"url": "db-staging.a", "other": "db"}, "x") == {
        "url": "db-prod_a", "other": "db-2", "name": "x",
    }  # fmt: skip
    assert PromotionMapping().name("a") == "a"
