"""The messages of a worker that is not ready."""

from __future__ import annotations

from runtime.rest.guards import with_cause


def test_a_cause_is_a_sentence_unless_it_begins_with_a_property() -> None:
    assert with_cause("Not ready.", "the broker is away") == "Not ready. The broker is away"
    assert with_cause("Not ready.", "sasl.mechanism=X is not enabled") == "Not ready. sasl.mechanism=X is not enabled"
