"""Makes docs/screen.svg: the console itself on a worker, with connectors of its own that are deleted afterwards.

python docs/make_screen.py http://127.0.0.1:8083
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tui import session
from tui.app import HeadraceApp
from tui.client.client import Connect
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError
from tui.wire.evented import AsyncTransport

SIZE = (144, 22)
PICTURE = Path(__file__).with_name("screen.svg")
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
LINES = 4_000
CELL = 12.2  # the width of a letter in the picture
EDITED = "orders-archive"


def connectors(folder: Path) -> dict[str, dict[str, str]]:
    orders = folder / "orders.log"
    orders.write_text("".join(f"order {number:05}\n" for number in range(LINES)))
    source = {"connector.class": "FileStreamSource", "file": str(orders), "tasks.max": "1"}
    sink = {"connector.class": "FileStreamSink", "topics": "picture-orders", "tasks.max": "1"}
    return {
        "orders-log": {**source, "topic": "picture-orders", "value.converter": STRING},
        "orders-archive": {**sink, "file": str(folder / "archive"), "value.converter": STRING},
        "orders-search": {**sink, "file": str(folder / "search"), "value.converter": JSON},
        "payments-log": {**source, "topic": "picture-payments", "value.converter": STRING},
        "payments-ledger": {**sink, "file": str(folder / "ledger"), "value.converter": STRING, "tasks.max": "2"},
        "audit-log": {**source, "topic": "picture-audit", "value.converter": STRING},
    }


async def until(condition: Callable[[], Awaitable[Any]], what: str) -> Any:
    for _ in range(600):
        try:
            if answer := await condition():
                return answer
        except HeadraceError as error:
            what = f"{what}: {error}"
        await asyncio.sleep(0.2)
    raise SystemExit(f"not within two minutes: {what}")


async def prepare(connect: Connect, folder: Path) -> None:
    for name, config in connectors(folder).items():
        await connect.create({"name": name, "config": config})

    async def failed() -> bool:
        return any(task["state"] == "FAILED" for task in (await connect.status("orders-search"))["tasks"])

    async def read() -> bool:
        return {"kafka_offset": LINES} in [one["offset"] for one in (await connect.offsets(EDITED))["offsets"]]

    await until(failed, "orders-search to fail")
    await until(read, f"offsets of {EDITED}")
    await connect.pause("audit-log")
    await connect.stop("payments-log")

    async def stopped() -> bool:
        return not (await connect.status("payments-log"))["tasks"]

    await until(stopped, "payments-log to stop")


async def picture(url: str) -> str:
    app = HeadraceApp(Profile(url, "staging"))
    async with app.run_test(size=SIZE) as pilot:

        async def shown() -> bool:
            await pilot.pause()
            return EDITED in app.home.connector_list.keys

        await until(shown, "the list")
        app.home.connector_list.go(EDITED)
        await pilot.press("e")

        async def editing() -> bool:
            await pilot.pause()
            return app.home.view.offsets.is_editing

        await until(editing, "the editor")
        await pilot.press(*["backspace"] * len(str(LINES)), *"2500")
        await pilot.pause(0.5)
        return app.export_screenshot(title="headrace")


def own_fonts(svg: str) -> str:
    """The picture loads no fonts: any monospaced font will do."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace(
        "Fira Code", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'"
    )


_INDENTED = re.compile(r'x="([\d.]+)"( y="[\d.]+") textLength="([\d.]+)"([^>]*>)((?:&#160;)+)(?=[^&<])')


def without_indents(svg: str) -> str:
    """Texts begin at their first letter: some programs that draw the picture leave blanks in front of it out."""

    def moved(match: re.Match[str]) -> str:
        blanks = CELL * match[5].count("&")
        return f'x="{float(match[1]) + blanks:g}"{match[2]} textLength="{float(match[3]) - blanks:g}"{match[4]}'

    return _INDENTED.sub(moved, svg)


async def main(url: str) -> None:
    transport = AsyncTransport(session.endpoint(Profile(url)))
    connect = Connect(transport)
    with tempfile.TemporaryDirectory(prefix="orders-") as folder:
        try:
            await prepare(connect, Path(folder))
            PICTURE.write_text(without_indents(own_fonts(await picture(url))), "utf-8")
        finally:
            for name in connectors(Path(folder)):
                try:
                    await connect.delete(name)
                except HeadraceError as error:
                    print(error, file=sys.stderr)
            await connect.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
