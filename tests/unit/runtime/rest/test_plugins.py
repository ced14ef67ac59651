"""POST /connector-plugins/reload at all workers of a group."""

from __future__ import annotations

from typing import Any, cast

from starlette.routing import Route

from runtime.herder.errors import NotFound
from runtime.herder.plugin_reload import PluginReload
from runtime.rest.plugins import PluginHandlers
from runtime.rest.resource import Resource
from tests.support.herder.worker_rig import ServingWorker, worker_group
from tests.support.never_called import NEVER_CALLED

PATH = "/connector-plugins/reload"


class Scripted:
    """Reloads as the test says."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.asked: list[str | None] = []

    async def reload(self, name: str | None) -> dict[str, Any]:
        self.asked.append(name)
        if name == "Nowhere":
            raise NotFound("Unknown plugin Nowhere.")
        return self.answer


async def _serve(worker: ServingWorker, number: int) -> Scripted:
    reload = Scripted({"plugins": [], "restarted": [f"c{number}"], "missing": []})
    handlers = PluginHandlers(NEVER_CALLED, cast(PluginReload, reload), worker.peers)
    await worker.serve([Route(PATH, Resource(post=handlers.reload))])
    return reload


async def test_every_worker_reloads_once_and_an_absent_one_is_null() -> None:
    async with worker_group(3) as workers:
        reloads = [await _serve(worker, number) for number, worker in enumerate(workers[:2])]
        await workers[2].server.close()
        answer = (await workers[0].client.post(f"{PATH}?plugin=Orders")).json()
        assert answer == {
            "workers": {workers[0].id: reloads[0].answer, workers[1].id: reloads[1].answer, workers[2].id: None}
        }
        assert [reload.asked for reload in reloads] == [["Orders"], ["Orders"]]
        alone = (await workers[0].client.post(f"{PATH}?forward=false")).json()
        assert alone == {"workers": {workers[0].id: reloads[0].answer}}


async def test_an_unknown_plugin_changes_nothing_elsewhere() -> None:
    async with worker_group(2) as workers:
        reloads = [await _serve(worker, number) for number, worker in enumerate(workers)]
        found = await workers[0].client.post(f"{PATH}?plugin=Nowhere")
        assert (found.status_code, found.json()["message"]) == (404, "Unknown plugin Nowhere.")
        assert reloads[1].asked == []
