"""A text being edited: problems at their lines, other people's changes taken over, nothing masked sent anywhere."""

from __future__ import annotations

from typing import Any

from tui.config import draft
from tui.config.definitions import of_validation
from tui.config.secrets import MASK
from tui.config.text import ConfigFormat

BASE = {"name": "c", "connector.class": "X", "db.password": "hunter2", "tasks.max": "1"}


def entry(name: str, *errors: str, **more: Any) -> dict[str, Any]:
    return {"definition": {"name": name, **more}, "value": {"name": name, "errors": list(errors)}}


def test_untouched_changes_nothing_and_hides_secrets() -> None:
    one = draft.of("c", BASE)
    assert "hunter2" not in one.text and not one.is_touched
    assert one.review().changes == ()
    assert one.to_validate() == BASE, "the worker validates what is there, not our mask"


def test_what_the_worker_masks_is_not_sent_even_to_be_validated() -> None:
    one = draft.of("c", {**BASE, "db.password": "[hidden]"})
    assert "db.password" not in one.to_validate()
    said = of_validation({"configs": [entry("db.password", "Missing required"), entry("tasks.max")]})
    assert not one.review(said).errors


def test_a_missing_key_stands_at_its_nearest_or_nowhere() -> None:
    config = {**BASE, "transforms": "a, b", "transforms.b.type": "X"}
    one = draft.of("c", config)
    lines = one.text.split("\n")
    missing = ("transforms.a.type", "transforms.b.field", "topics")
    said = of_validation({"configs": [entry(name, f"Missing {name}") for name in missing]})
    places = {problem.message: problem.place.line for problem in one.review(said).errors}
    assert lines[places["Missing transforms.a.type"] - 1].startswith('  "transforms":')
    assert lines[places["Missing transforms.b.field"] - 1].startswith('  "transforms.b.type":')
    assert places["Missing topics"] == 0
    problem = next(one for one in one.review(said).errors if one.message == "Missing topics")
    assert str(problem) == "Missing topics"


def test_errors_stand_at_their_lines_and_unknown_keys_are_flagged() -> None:
    lines = ['{"connector.class": "X",', '"tasks.max": "x",', '"task.max": 1,', f'"db.password": "{MASK}"}}']
    one = draft.of("c", BASE).typed("\n".join(lines))
    said = of_validation(
        {
            "configs": [
                entry("connector.class"),
                entry("tasks.max", "Not a number"),
                entry("topics", "is missing"),
                entry("db.password"),
            ]
        }
    )
    found = one.review(said)
    assert [str(error) for error in found.errors] == [
        "topics: is missing",
        "line 2, column 14: tasks.max: Not a number",
    ]
    assert [str(one) for one in found.warnings] == [
        "line 3, column 13: the plugin has no key task.max; did you mean tasks.max?"
    ]


def test_something_typed_beside_a_mask_is_neither_the_old_value_nor_a_new_one() -> None:
    one = draft.of("c", BASE)
    for value in (f"{MASK}9", f"x{MASK}"):
        found = one.typed(one.text.replace(MASK, value)).review()
        assert [error.message for error in found.errors] == [
            "db.password: the value still contains the mask; replace the whole value"
        ]
    stars = {**BASE, "note": f"see {MASK} below"}
    assert not draft.of("c", stars).review().errors, "what is there already is the user's own"


def test_a_mask_is_no_value_and_names_stay() -> None:
    one = draft.of("c", BASE).typed('{"name": "d", "other.password": "***"}')
    assert {error.message for error in one.review().errors} == {
        "a connector cannot be renamed: create a new one",
        "other.password: this is a mask, not a value; enter the value",
    }


def test_the_other_form_keeps_the_text() -> None:
    one = draft.of("c", BASE)
    converted = one.typed(one.text.replace('"1"', '"2"')).converted()
    assert converted is not None and converted.form is ConfigFormat.PROPERTIES and "tasks.max=2\n" in converted.text
    assert [change.key for change in converted.review().changes] == ["tasks.max"]
    assert one.typed("{").converted() is None


def test_rebased_keeps_ours_and_takes_theirs() -> None:
    one = draft.of("c", BASE)
    mine = one.typed(one.text.replace('"1"', '"2"'))
    now = {**BASE, "file": "/x", "db.password": "other"}
    again = mine.rebased(now)
    assert [(c.key, c.before, c.after) for c in again.review().changes] == [("tasks.max", "1", "2")]
    assert '"file": "/x"' in again.text and again.is_touched


def test_keys_of_transformations_and_overrides_are_somebody_elses() -> None:
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
    said = of_validation({"configs": [entry("connector.class"), entry("transforms")]})
    assert [problem.message for problem in one.review(said).warnings] == ["the plugin has no key transforms.b.type"]
