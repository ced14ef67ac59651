"""Drafts of configs: problems with their lines, rebasing on changes by others, and masks, which are never sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.config import draft
from tui.config.definitions import of_validation
from tui.config.secrets import MASK
from tui.config.text import ConfigFormat

if TYPE_CHECKING:
    from tui.client.responses import ValidatedKey

BASE = {"name": "c", "connector.class": "X", "db.password": "hunter2", "tasks.max": "1"}


def entry(name: str, *errors: str) -> ValidatedKey:
    return {"definition": {"name": name}, "value": {"name": name, "errors": list(errors)}}


def test_an_unedited_draft_changes_nothing_and_hides_secrets() -> None:
    one = draft.of("c", BASE)
    assert "hunter2" not in one.text and not one.is_touched
    assert one.review().changes == ()
    assert one.to_validate() == BASE, "the worker validates the real value, not the mask"


def test_values_masked_by_the_worker_are_not_sent_for_validation() -> None:
    one = draft.of("c", {**BASE, "db.password": "[hidden]"})
    assert "db.password" not in one.to_validate()
    validation = of_validation({"configs": [entry("db.password", "Missing required"), entry("tasks.max")]})
    assert not one.review(validation).errors


def test_a_url_with_a_secret_masked_by_the_worker_is_not_sent() -> None:
    one = draft.of("c", {**BASE, "http.url": "https://me:[hidden]@host/path"})
    assert "http.url" not in one.to_validate() and not one.review().errors
    edited = one._replace(text=one.text.replace("@host", "@other"))
    assert "http.url" not in edited.to_validate()
    assert [problem.message for problem in edited.review().errors] == [
        "http.url: the value still contains the mask; replace the whole value"
    ]


def test_a_missing_key_is_reported_at_the_nearest_related_key_or_without_a_line() -> None:
    config = {**BASE, "transforms": "a, b", "transforms.b.type": "X"}
    one = draft.of("c", config)
    lines = one.text.split("\n")
    missing = ("transforms.a.type", "transforms.b.field", "topics")
    validation = of_validation({"configs": [entry(name, f"Missing {name}") for name in missing]})
    places = {problem.message: problem.place.line for problem in one.review(validation).errors}
    assert lines[places["Missing transforms.a.type"] - 1].startswith('  "transforms":')
    assert lines[places["Missing transforms.b.field"] - 1].startswith('  "transforms.b.type":')
    assert places["Missing topics"] == 0
    problem = next(one for one in one.review(validation).errors if one.message == "Missing topics")
    assert str(problem) == "Missing topics"


def test_errors_have_lines_and_unknown_keys_are_flagged() -> None:
    lines = ['{"connector.class": "X",', '"tasks.max": "x",', '"task.max": 1,', f'"db.password": "{MASK}"}}']
    one = draft.of("c", BASE).typed("\n".join(lines))
    validation = of_validation(
        {
            "configs": [
                entry("connector.class"),
                entry("tasks.max", "Not a number"),
                entry("topics", "is missing"),
                entry("db.password"),
            ]
        }
    )
    found = one.review(validation)
    assert [str(error) for error in found.errors] == [
        "topics: is missing",
        "line 2, column 14: tasks.max: Not a number",
    ]
    assert [str(problem) for problem in found.problems if problem not in found.errors] == [
        "line 3, column 13: the plugin has no key task.max; did you mean tasks.max?"
    ]


def test_text_typed_next_to_a_mask_is_an_error() -> None:
    one = draft.of("c", BASE)
    for value in (f"{MASK}9", f"x{MASK}"):
        found = one.typed(one.text.replace(MASK, value)).review()
        assert [error.message for error in found.errors] == [
            "db.password: the value still contains the mask; replace the whole value"
        ]
    stars = {**BASE, "note": f"see {MASK} below"}
    assert not draft.of("c", stars).review().errors, "an existing value may contain the mask"


def test_masks_and_renames_are_errors() -> None:
    one = draft.of("c", BASE).typed('{"name": "d", "other.password": "***"}')
    assert {error.message for error in one.review().errors} == {
        "a connector cannot be renamed: create a new one",
        "other.password: this is a mask, not a value; enter the value",
    }


def test_conversion_to_the_other_form_keeps_the_changes() -> None:
    one = draft.of("c", BASE)
    converted = one.typed(one.text.replace('"1"', '"2"')).converted()
    assert converted is not None and converted.form is ConfigFormat.PROPERTIES and "tasks.max=2\n" in converted.text
    assert [change.key for change in converted.review().changes] == ["tasks.max"]
    assert one.typed("{").converted() is None


def test_a_rebased_draft_has_the_changes_of_both_sides() -> None:
    one = draft.of("c", BASE)
    mine = one.typed(one.text.replace('"1"', '"2"'))
    now = {**BASE, "file": "/x", "db.password": "other"}
    again = mine.rebased(now)
    assert [(c.key, c.before, c.after) for c in again.review().changes] == [("tasks.max", "1", "2")]
    assert '"file": "/x"' in again.text and again.is_touched


def test_keys_of_transformations_and_overrides_are_not_unknown() -> None:
    one = draft.of(
        "c",
        {
            "connector.class": "X",
            "transforms": "a",
            "transforms.a.type": "T",
            "transforms.b.type": "T",
            "producer.override.acks": "1",
            "value.converter.schemas.enable": "false",
        },
    )
    validation = of_validation({"configs": [entry("connector.class"), entry("transforms")]})
    review = one.review(validation)
    assert [problem.message for problem in review.problems if problem not in review.errors] == [
        "the plugin has no key transforms.b.type"
    ]
