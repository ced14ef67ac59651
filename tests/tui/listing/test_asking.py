"""Confirmation of changes: optional reasons, and refusal in read-only contexts."""

from __future__ import annotations

from typing import Any

import pytest
from textual import events
from textual.content import Content
from textual.widgets import Input

from tests.support.console.console import NO_CLUSTER, Console, console, detached_console, update
from tests.support.console.snapshot import recorded
from tests.unit.tui.screens.builders import connector
from tui.screens.base.dialog import Dialog
from tui.screens.clusters.loggers import LoggersScreen


async def asked(seen: Console, dialog: Dialog) -> list[bool | None]:
    """Shows the dialog and waits until it accepts keys. Its answer is added to the returned list."""
    answers: list[bool | None] = []
    await seen.until(lambda: seen.home.is_started, "the start")
    seen.app.push_screen(dialog, answers.append)
    await seen.until(lambda: seen.app.screen is dialog and dialog.armed)
    return answers


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("", ("w", *"target yw restored", "enter", "y")),
        ("abc", ("tab", *"target yw restored", "enter", *"abc", "enter")),
    ],
)
async def test_a_reason_is_typed_before_the_answer(name: str, keys: tuple[str, ...]) -> None:
    async with console(NO_CLUSTER) as seen:
        dialog = Dialog("alter?", Content("this"), "alter", name=name, why="")
        answers = await asked(seen, dialog)
        await seen.press(*keys)
        await seen.until(lambda: answers)
        assert (answers, dialog.why) == ([True], "target yw restored")


async def test_a_reason_is_optional() -> None:
    async with console(NO_CLUSTER) as seen:
        dialog = Dialog("alter?", Content("this"), "alter", why="undo: change 3")
        answers = await asked(seen, dialog)
        await seen.sees("undo: change 3", "w give a reason")
        await seen.press("y")
        await seen.until(lambda: answers)
        assert (answers, dialog.why) == ([True], "undo: change 3")
        other = Dialog("stop?", Content("this"), "stop")
        await asked(seen, other)
        assert "why" not in seen.text


async def test_a_resize_under_a_dialog_keeps_the_footer_of_the_screen_below() -> None:
    """The text field of a dialog takes letters, but not from the keys of the screen under it."""
    async with detached_console(connector("orders")) as seen:
        await seen.sees("s stop", "? help")
        dialog = Dialog(
            "delete?", Content("this"), "delete", name="abc", option="reset its committed offsets first, too"
        )
        await asked(seen, dialog)
        await seen.press("a")
        await seen.pilot.resize_terminal(60, 20)
        await seen.sees("s stop", "? help", "offsets first, too (^o)")
        await seen.pilot.resize_terminal(80, 24)
        await seen.sees("s stop", "? help")


@pytest.mark.parametrize("size", [(60, 15), (60, 20), (80, 24)], ids=str)
@pytest.mark.parametrize(
    "parts", [{}, {"name": "12"}, {"name": "12", "why": "", "option": "reset its offsets"}], ids=len
)
async def test_a_long_question_scrolls_above_its_buttons(size: tuple[int, int], parts: dict[str, Any]) -> None:
    async with detached_console(connector("orders"), width=size[0], height=size[1]) as seen:
        await seen.until(lambda: seen.home.is_started)
        await asked(
            seen, Dialog("pause 12 connectors?", Content("\n".join(f"target {n}" for n in range(40))), "go", **parts)
        )
        await seen.sees("target 0", "cancel", "esc no")
        for width, height in ((140, 40), size):
            await seen.pilot.resize_terminal(width, height)
            await seen.sees("target 1", "cancel", "esc no", *["type the number"] * ("name" in parts))
            if height == 40:
                await seen.sees("target 20")
            else:
                await seen.until(lambda: "target 20" not in seen.text)


async def test_read_only_refuses_before_asking() -> None:
    async with detached_console(connector("orders"), connector("payments"), read_only=True) as seen:
        for line in ("stop orders", "delete orders", "stop *", "delete offsets orders", "restart task orders/0"):
            await seen.press("colon", *line, "enter")
            await seen.sees("refused: the context http://127.0.0.1:1 is read-only")
            assert seen.app.screen is seen.home and not seen.home.operations.log
            await seen.press("question_mark", "escape")
            seen.home.report("")
        await seen.press("s")
        await seen.sees("stop refused: the context")
        await seen.press("L")
        await seen.until(lambda: isinstance(seen.app.screen, LoggersScreen))
        await seen.press("a", *"org.apache", "enter")
        await seen.sees("setting a level refused: the context")
        await seen.press("slash", "x")
        await seen.until(lambda: isinstance(seen.app.screen, LoggersScreen) and seen.app.screen.filter_text == "x")
        await seen.pilot.pause()
        assert "by /x" not in seen.text, "no loggers could be read"


async def test_keys_typed_after_a_verb_never_reach_the_list() -> None:
    """The keys arrive in one packet: without the dialog, `r` in `Dr` would have resumed the connector."""
    async with detached_console() as seen:
        seen.app.question_delay = 1.0
        update(seen, connector("orders", "PAUSED", ("PAUSED",)), connector("payments", "PAUSED", ("PAUSED",)))
        await seen.go("orders")
        for keys in ("Dr", "Dpayments\r", "sDr", "*sr"):
            for key in keys:
                seen.app.post_message(events.Key({"\r": "enter", "*": "asterisk"}.get(key, key), key))
            await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed)
            assert [type(screen) for screen in seen.app.screen_stack] == [type(seen.home), Dialog]
            await seen.press("escape")
            await seen.sees("cancelled")
            seen.home.report("")
            seen.home.clear_marks()
        assert not seen.home.operations.log


async def test_a_name_starting_with_n_is_typed_and_a_wrong_name_reported() -> None:
    async with console(NO_CLUSTER) as seen:
        dialog = Dialog("delete nine?", Content("for good"), "delete", name="nine")
        answers = await asked(seen, dialog)
        await seen.sees("type the name:", "esc no")
        assert "n/esc" not in seen.text
        await seen.press("n", "i", "enter")
        await seen.sees("not the name yet:")
        await seen.press("n", "e")
        await seen.sees("type the name:")
        await seen.press("enter")
        await seen.until(lambda: answers)
        assert answers == [True]
        other = Dialog("delete nine?", Content("for good"), "delete", name="nine")
        left = await asked(seen, other)
        await seen.press("escape")
        await seen.until(lambda: left)
        assert left == [False]


async def test_a_wrong_number_is_reported_even_if_enter_follows_it_at_once() -> None:
    """The field reports its text only after the key."""
    async with console(NO_CLUSTER) as seen:
        dialog = Dialog("restart 4,902 connectors?", Content("all"), "restart", name="4902")
        await asked(seen, dialog)
        dialog.name_field.value = "5000"
        dialog.entered_name()
        await seen.press("pageup")
        await seen.sees("not the number yet: 5000")


@pytest.mark.parametrize(
    ("typed", "confirms"),
    [("shop-payments-archive", False), ("shop-payments-archive-", True), ("31", True), ("3", False)],
)
async def test_a_long_name_is_confirmed_by_its_start_or_its_length(typed: str, confirms: bool) -> None:
    async with console(NO_CLUSTER) as seen:
        name = "shop-payments-archive-eu-west-1"
        answers = await asked(seen, Dialog("delete?", Content("gone"), "delete", name=name))
        await seen.sees("or 22 characters of it, or 31")
        await seen.press(*typed, "enter")
        if confirms:
            await seen.until(lambda: answers == [True])
        else:
            await seen.sees("not the name yet:")


@pytest.mark.parametrize(("name", "confirms"), [("日本\u202e", True), ("short", False)])
async def test_a_name_that_a_keyboard_may_not_have_is_confirmed_by_its_length(name: str, confirms: bool) -> None:
    async with console(NO_CLUSTER) as seen:
        answers = await asked(seen, Dialog("delete?", Content("gone"), "delete", name=name))
        await seen.sees("type the name", "or 3, its number of characters" if confirms else "")
        await seen.press(str(len(name)), "enter")
        if confirms:
            await seen.until(lambda: answers == [True])
        else:
            await seen.sees("not the name yet:")


async def test_pasting_the_name_does_not_confirm() -> None:
    async with console(NO_CLUSTER) as seen:
        dialog = Dialog("delete?", Content("gone"), "delete", name="tz-badconv")
        answers = await asked(seen, dialog)
        assert dialog.focused is not dialog.name_field
        paste(seen, " tz-bad \nconv\n")
        await seen.until(lambda: dialog.name_field.value == "tz-bad", "the first line")
        assert dialog.name_field.has_focus
        paste(seen, "conv\r")
        await seen.until(lambda: dialog.name_field.value == "tz-badconv", "the rest of the pasted text")
        paste(seen, "\n")
        await seen.pilot.pause(0.3)
        assert not answers and seen.app.screen is dialog
        await seen.press("enter")
        await seen.until(lambda: answers == [True])


async def test_a_paste_does_not_answer_a_question() -> None:
    async with console(NO_CLUSTER) as seen:
        answers = await asked(seen, Dialog("stop?", Content("this"), "stop"))
        paste(seen, "y\n")
        await seen.pilot.pause(0.3)
        assert not answers and isinstance(seen.app.screen, Dialog)


def paste(seen: Console, text: str) -> None:
    """Pastes the text as a terminal with bracketed paste sends it."""
    driver = seen.app._driver
    assert driver is not None
    driver.send_message(events.Paste(text))


async def test_a_name_that_is_confirmed_early_counts_once_the_question_accepts_keys() -> None:
    async with detached_console() as seen:
        seen.app.question_delay = 2.0
        update(seen, connector("orders", "PAUSED", ("PAUSED",)))
        await seen.go("orders")
        await seen.press("D")
        await seen.sees("type the name")
        for key in "orders\r":
            seen.app.post_message(events.Key({"\r": "enter"}.get(key, key), key))
        await seen.until(lambda: seen.home.operations.log, "the deletion")
        assert seen.home.operations.log[0].title == "delete orders"


async def test_the_field_of_a_question_is_visible_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with recorded(80, 24) as seen:
        await seen.app.push_screen(Dialog("delete one?", Content("Deletes it."), "delete", name="one"))
        assert seen.app.screen.query_one(Input).styles.text_style.underline


async def test_a_connector_that_was_created_again_is_not_deleted_by_the_answer_about_the_earlier_one() -> None:
    async with detached_console(connector("orders", "STOPPED", ())) as seen:
        await seen.go("orders")
        await seen.press("D")
        await seen.sees("delete orders?", "STOPPED, no tasks")
        update(seen)
        update(seen, connector("orders", topics="other"))
        await seen.confirm(*"orders", "enter")
        await seen.sees("not sent: someone else changed the config of orders or created orders again")
        assert not seen.home.operations.log
