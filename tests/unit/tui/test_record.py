"""Records are what frozen dataclasses with slots are, held against those."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import pytest

from tui.record import field, record, replace


@record
class Ours:
    name: str
    tasks: tuple[int, ...] = ()
    secret: str = field(default="", repr=False)
    config: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def count(self) -> int:
        return len(self.tasks)


@dataclass(frozen=True, slots=True)
class Theirs:
    name: str
    tasks: tuple[int, ...] = ()
    secret: str = dataclass_field(default="", repr=False)
    config: Mapping[str, str] = dataclass_field(default_factory=dict, hash=False)


@record
class Checked:
    url: str

    def __post_init__(self) -> None:
        if not self.url:
            raise ValueError("no url")


def test_like_a_dataclass() -> None:
    for given in ({}, {"tasks": (1, 2)}, {"secret": "x", "config": {"a": "b"}}):
        ours, theirs = Ours("a", **given), Theirs("a", **given)
        assert repr(ours).partition("(")[2] == repr(theirs).partition("(")[2]
        assert hash(ours) == hash(theirs)
        assert ours == Ours("a", **given)
        assert ours != Ours("b", **given)
    assert Ours("a") != Theirs("a")  # type: ignore[comparison-overlap]
    assert Ours("a").config is not Ours("a").config
    assert Ours("a", (1, 2)).count == 2
    assert pickle.loads(pickle.dumps(Ours("a", (1,)))) == Ours("a", (1,))


def test_a_secret_is_not_shown() -> None:
    assert "hunter2" not in repr(Ours("a", secret="hunter2"))


def test_it_does_not_change() -> None:
    one = Ours("a")
    with pytest.raises(AttributeError, match="does not change"):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del one.name
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]
    assert replace(one, name="b") == Ours("b")
    assert one.name == "a"


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="no url"):
        Checked("")
    with pytest.raises(ValueError, match="no url"):
        replace(Checked("x"), url="")
    with pytest.raises(TypeError):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        replace(Ours("a"), nothing=1)
