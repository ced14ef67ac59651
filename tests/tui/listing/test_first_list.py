"""The list is drawn before the modules of the rest of the screen are imported; clicks on it wait for the page."""

from __future__ import annotations

import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE

from tests.support.servers.stub_worker import LIST, listed, stub_worker

SCRIPT = """
import asyncio
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from tui.app import HeadraceApp
from tui.contexts.profiles import Profile

async def main():
    app = HeadraceApp(Profile(sys.argv[1]))
    async with app.run_test():
        async with asyncio.timeout(30):
            while not app.home.connector_list.keys:
                await asyncio.sleep(0)
            app.home.connector_list.action_open()
            print(app.home.connector_list.keys, "tui.screens.connector.connector" in sys.modules)
            while not app.home.is_started:
                await asyncio.sleep(0.01)
        print(app.home.is_detail)

asyncio.run(main())
"""


async def test_the_list_is_drawn_before_the_rest_of_the_screen_is_imported() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {"orders": listed("orders")}}) as worker:
        process = await create_subprocess_exec(sys.executable, "-c", SCRIPT, worker.url, stdout=PIPE)
        output, _ = await process.communicate()
    assert output.decode().split("\n")[:2] == ["['orders'] False", "False"]
