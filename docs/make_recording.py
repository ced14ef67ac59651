"""Makes the pictures of the documentation from the console on an embedded cluster of its own. `make recording` runs it.

docs/screen.svg is recorded while a failure is read and a sink is set back by time; docs/gallery has the list in each
theme.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from textual.pilot import Pilot

from docs.moving_picture import Frame, line, render, terminal_colour
from tui import embedded, session
from tui.app import HeadraceApp
from tui.appearance import themes
from tui.client.client import Connect
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError
from tui.wire.evented import AsyncTransport

SIZE = (100, 20)
PICTURE, GALLERY = Path(__file__).with_name("screen.svg"), Path(__file__).with_name("gallery")
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
REWOUND = "orders-archive"
RECORDS, RECENT, HOUR = 4_000, 1_500, 3600_000  # in the topic; of the last hour; milliseconds


def connectors(folder: Path) -> dict[str, dict[str, str]]:
    (folder / "payments.log").write_text("".join(f"payment {number:05}\n" for number in range(RECORDS)))
    source = {"connector.class": "FileStreamSource", "file": str(folder / "payments.log"), "value.converter": STRING}
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "value.converter": STRING}
    return {
        "orders-archive": {**sink, "file": str(folder / "archive")},
        "orders-search": {**sink, "file": str(folder / "search"), "value.converter": JSON},
        "payments-log": {**source, "topic": "payments"},
        "payments-ledger": {**sink, "topics": "payments", "file": str(folder / "ledger"), "tasks.max": "2"},
        "audit-log": {**source, "topic": "audit"},
    }


def produce(bootstrap: str) -> None:
    """Orders, of which the last ones are younger than an hour."""
    producer, now = Producer({"bootstrap.servers": bootstrap}), int(time.time() * 1000)
    for number in range(RECORDS):
        age = 3 * HOUR if number < RECORDS - RECENT else HOUR // 2
        producer.produce("orders", f"order {number:05}".encode(), timestamp=now - age)
    if producer.flush(30):
        raise SystemExit("the broker does not accept records")


async def until(condition: Callable[[], Awaitable[Any]], expected: str, screen: Callable[[], str] = str) -> None:
    for _ in range(600):
        try:
            if await condition():
                return
        except HeadraceError as error:
            expected = f"{expected}: {error}"
        await asyncio.sleep(0.1)
    raise SystemExit(f"not within a minute: {expected}\n{screen()}")


async def prepare(connect: Connect, folder: Path) -> None:
    for name, config in connectors(folder).items():
        await connect.create({"name": name, "config": {"tasks.max": "1", **config}})

    async def failed() -> bool:
        return any(task["state"] == "FAILED" for task in (await connect.status("orders-search"))["tasks"])

    async def read() -> bool:
        return any(
            entry["offset"] == {"kafka_offset": RECORDS} for entry in (await connect.offsets(REWOUND))["offsets"]
        )

    await until(failed, "orders-search to fail")
    await until(read, f"{REWOUND} to reach the end")
    await connect.pause("audit-log")


class Recording:
    """The console, and the frames taken from its screen."""

    def __init__(self, app: HeadraceApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot, self.caption = app, pilot, ""
        self.frames: list[Frame] = []

    @property
    def colours(self) -> tuple[str, str]:
        theme = self.app.current_theme
        return terminal_colour(theme.foreground or "", True), terminal_colour(theme.background or "", False)

    def take(self, seconds: float) -> None:
        strips = self.app.screen._compositor.render_strips(self.app.size)
        lines = tuple(line(strip, *self.colours) for strip in strips)
        self.frames.append(Frame(lines, seconds, self.caption))

    async def press(self, *keys: str, sees: tuple[str, ...] = (), seconds: float = 0.0) -> None:
        """Presses keys, waits for texts, then takes a frame if `seconds` is given."""
        await self.pilot.press(*keys)
        await self.pilot.pause(0.1)

        async def shown() -> bool:
            await self.pilot.pause(0.05)
            return all(text in self.text for text in sees)

        await until(shown, f"{sees} on the screen", lambda: self.text)
        if seconds:
            self.take(seconds)

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def record(url: str) -> tuple[list[Frame], int, str]:
    """The story: the list, a failure and its trace, a sink set back by time, the sink RUNNING again."""
    app = HeadraceApp(Profile(url, "staging"))
    async with app.run_test(size=SIZE) as pilot:
        film = Recording(app, pilot)
        film.caption = "every connector, failures first"
        await film.press(sees=("orders-search", REWOUND, "● live"), seconds=3)
        film.caption = "t: the trace of a failure"
        await film.press("n", "t", sees=("full trace",), seconds=4)
        await film.press("escape", "escape", sees=("payments-ledger",))
        app.home.connector_list.go(REWOUND)
        film.caption = "w: set a sink back by time, counted in records"
        await film.press(seconds=1)
        await film.press("enter", "5", sees=("at the end",), seconds=1.5)
        await film.press("w", sees=("for all partitions",), seconds=0.8)
        for key in "1h ago":
            await film.press({" ": "space"}.get(key, key), seconds=0.15)
        await film.press(sees=("0 skipped",), seconds=3.5)
        still = len(film.frames) - 1
        film.caption = "the difference, before anything is sent"
        await film.press("enter", sees=("read again)",), seconds=2.5)
        film.caption = "one step: stop the connector, alter its offsets, resume it"
        await film.press("ctrl+s", sees=("y yes",), seconds=2)
        await pilot.pause(1)  # keys that were typed before a dialog opened do not count
        await film.press("y", sees=("definite success",), seconds=3)
        film.caption = f"running again: {RECENT:,} records were read again"
        await film.press("escape", "escape", sees=("payments-ledger",), seconds=4)
        return film.frames, still, film.colours[1]


async def gallery(url: str) -> dict[str, str]:
    """A picture of the list in each theme, by the name of the theme."""
    app = HeadraceApp(Profile(url, "staging"))
    async with app.run_test(size=SIZE) as pilot:
        pictures = {}
        for theme in themes.bundled():
            app.choose_theme(theme.name)
            film = Recording(app, pilot)
            film.caption = theme.name.removeprefix("headrace-")
            await film.press(sees=("Connect 4", "orders-search", REWOUND, "● live", "PAUSED"), seconds=1)
            pictures[theme.name] = render(film.frames, 0, film.colours[1])
        return pictures


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="orders-", ignore_cleanup_errors=True) as folder:
        os.environ |= {f"XDG_{kind}_HOME": folder for kind in ("STATE", "CONFIG")}
        cluster = embedded.attach()
        try:
            produce(cluster.bootstrap)
            connect = Connect(AsyncTransport(session.endpoint(Profile(cluster.url))))
            await prepare(connect, Path(folder))
            await connect.close()
            for name, picture in (await gallery(cluster.url)).items():
                (GALLERY / f"{name}.svg").write_text(picture, "utf-8")
            PICTURE.write_text(render(*await record(cluster.url)), "utf-8")
        finally:
            cluster.detach()


if __name__ == "__main__":
    asyncio.run(main())
