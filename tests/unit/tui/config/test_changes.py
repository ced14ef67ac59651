"""Changes of a config: the difference, the request, and masks, which are never sent."""

from __future__ import annotations

from tui.config.changes import ConfigChange, as_patch, changes, diff_lines, merged
from tui.config.secrets import MASK, is_masked, is_secret, shown

BASE = {"name": "c", "connector.class": "X", "db.password": "hunter2", "url": "${file:/etc/x:url}", "n": "1"}


def test_only_changed_keys_are_sent() -> None:
    text = {**shown(BASE), "n": 2, "new": True}
    made = changes(BASE, text)
    assert made == (ConfigChange("n", "1", "2"), ConfigChange("new", None, "true"))
    assert as_patch(made) == {"n": "2", "new": "true"}
    assert merged(BASE, made) == {**BASE, "n": "2", "new": "true"}


def test_an_omitted_key_is_removed_except_the_name() -> None:
    made = changes(BASE, {"connector.class": "X", "db.password": MASK, "url": BASE["url"]})
    assert made == (ConfigChange("n", "1", None),)
    assert as_patch(made) == {"n": None}
    assert "n" not in merged(BASE, made)
    assert changes(BASE, {**BASE, "n": None}) == made, "null removes the key"


def test_secrets_are_masked_and_references_are_not() -> None:
    hidden = shown({**BASE, "jdbc.pw": "x", "token": "${vault:a:b}"}, passwords={"jdbc.pw"})
    assert hidden["db.password"] == hidden["jdbc.pw"] == MASK
    assert hidden["url"] == BASE["url"] and hidden["token"] == "${vault:a:b}"
    assert is_secret("sasl.jaas.config", "x") and not is_secret("topics", "x")


def test_masks_of_other_systems_are_recognized() -> None:
    assert all(map(is_masked, ("********", "***", "[hidden]", "<redacted>", "[MASKED]", "••••")))
    assert not any(map(is_masked, ("", "*", "hidden", "a***", "topic-redacted")))


def test_a_new_secret_is_sent_and_not_shown() -> None:
    made = changes(BASE, {**shown(BASE), "db.password": "correct horse"})
    assert as_patch(made) == {"db.password": "correct horse"}
    assert diff_lines(made) == [f"- db.password={MASK}", f"+ db.password={MASK}"]
    assert diff_lines((ConfigChange("a", "1\n2", None),)) == ["- a=1\\n2"]
