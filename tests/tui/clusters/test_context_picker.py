"""The choice of another context: by typing or moving, never by Enter alone, and never the cluster that is shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import recorded, still
from tui import session
from tui.contexts.profiles import Profile
from tui.screens.contexts.context_picker import ContextPicker

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")


@pytest.fixture
def contexts() -> Iterator[None]:
    file = session.profiles()
    for name, port in (("prod-eu", 1), ("prod-us", 2), ("staging", 3)):
        file.put(Profile(f"http://127.0.0.1:{port}", name, production=name.startswith("prod")))
    yield
    file.path.unlink()


async def _opened(seen: Console) -> ContextPicker:
    await seen.press("greater_than_sign")
    await seen.until(lambda: isinstance(seen.app.screen, ContextPicker))
    picker = seen.app.screen
    assert isinstance(picker, ContextPicker)
    return picker


@pytest.mark.usefixtures("contexts")
@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_a_context_is_typed_or_moved_to(size: tuple[int, int]) -> None:
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        await seen.go("orders-log")
        picker = await _opened(seen)
        await seen.sees("prod-eu", "prod-us", "staging", "PRODUCTION")
        await seen.press("enter")
        await seen.sees("type a part of the name, or move to a context")
        await seen.press(*"prod", "enter")
        await seen.sees("2 contexts have this in their names")
        assert "staging" not in seen.text
        await seen.press(*"x", "enter")
        await seen.sees("no context has this in its name")
        await seen.press("backspace", *"-us")
        assert picker.matching == ["prod-us"]
        await seen.press("enter")
        await seen.until(lambda: not isinstance(seen.app.screen, ContextPicker))
        assert seen.app.screen.other.name == "prod-us"  # type: ignore[attr-defined]
        await seen.press("escape")
        await _opened(seen)
        await seen.press("down", "down", "down", "enter")
        await seen.until(lambda: not isinstance(seen.app.screen, ContextPicker))
        assert seen.app.screen.other.name == "staging"  # type: ignore[attr-defined]


@pytest.mark.usefixtures("contexts")
async def test_the_cluster_that_is_shown_is_refused_under_any_name() -> None:
    async with recorded(80, 24) as seen:
        session.profiles().put(Profile(seen.home.profile.url, "same"))
        await seen.sees("orders-log")
        await seen.go("orders-log")
        await _opened(seen)
        await seen.sees("same", "THIS CLUSTER")
        await seen.press(*"same", "enter")
        await seen.sees("same is the cluster that is shown: choose another")
        await seen.press("escape")
        await seen.until(lambda: not isinstance(seen.app.screen, ContextPicker))
