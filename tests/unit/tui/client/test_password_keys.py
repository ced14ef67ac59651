"""Keys of type PASSWORD, by the definitions of plugins."""

from __future__ import annotations

import pytest

from tui.client.password_keys import ASK_AGAIN, PasswordKeys
from tui.client.responses import KeyResponse
from tui.errors import BadRequest, NotFound, Refused, ServerError

CONFIG = {
    "connector.class": "x.Y", "pin": "4711", "topics": "t",
    "transforms": "t", "transforms.t.type": "x.T", "transforms.t.salt": "4711",
}  # fmt: skip
OF_TRANSFORMATION = {"transforms.t.type", "transforms.t.salt"}


class Definitions:
    """The definitions of two plugins; `refusal` is raised for the transformation."""

    def __init__(self, refusal: Refused | None = None) -> None:
        self.refusal, self.asked, self.now = refusal, list[str](), 100.0
        self.keys = PasswordKeys(self.read, lambda: self.now)

    async def read(self, plugin: str) -> list[KeyResponse]:
        self.asked.append(plugin)
        if plugin == "x.T" and self.refusal is not None:
            raise self.refusal
        return [{"name": "pin" if plugin == "x.Y" else "salt", "type": "PASSWORD"}]


async def test_definitions_are_read_once() -> None:
    one = Definitions()
    assert one.keys.hidden(CONFIG) == CONFIG.keys() and not one.keys.has_read(CONFIG)
    for one.now in (0.0, 100 * ASK_AGAIN):
        assert await one.keys.of(CONFIG, CONFIG, None) == {"pin", "transforms.t.salt"}
    assert one.keys.hidden(CONFIG) == {"pin", "transforms.t.salt"} and one.keys.has_read(CONFIG)
    assert one.asked == ["x.Y", "x.T"]
    assert one.keys.hidden({"pin": "4711"}) == {"pin"}, "the class of a PATCH is not known"


@pytest.mark.parametrize("status", [401, 403, 405, 429, 500])
async def test_a_refusal_hides_all_values_of_the_plugin(status: int) -> None:
    one = Definitions((BadRequest if status < 500 else ServerError)("no", status))
    assert await one.keys.of(CONFIG) == {"pin", *OF_TRANSFORMATION} == one.keys.hidden(CONFIG)
    assert not one.keys.has_read(CONFIG)
    one.refusal = None
    one.now += ASK_AGAIN
    assert await one.keys.of(CONFIG) == {"pin", "transforms.t.salt"}


@pytest.mark.parametrize("refusal", [NotFound("no plugin x.T", 404), BadRequest("no plugin x.T", 400)])
async def test_an_unknown_plugin_is_looked_up_again(refusal: Refused) -> None:
    one = Definitions(refusal)
    for _ in range(3):
        assert await one.keys.of(CONFIG) == {"pin"} and one.keys.has_read(CONFIG)
    assert one.asked == ["x.Y", "x.T"]
    one.refusal = None
    one.now += ASK_AGAIN
    assert not one.keys.has_read(CONFIG)
    assert await one.keys.of(CONFIG) == {"pin", "transforms.t.salt"}
