"""The predicates."""

from __future__ import annotations

from runtime.plugin_kit import Case, PredicateCase
from runtime.transforms.predicates.conditions import HasHeaderKey, RecordIsTombstone, TopicNameMatches

CASES: list[Case] = [
    PredicateCase(predicate=HasHeaderKey, config={"name": "trace"}),
    PredicateCase(predicate=RecordIsTombstone),
    PredicateCase(predicate=TopicNameMatches, config={"pattern": "to.*"}),
]
