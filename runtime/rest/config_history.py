"""Endpoints of the history of configs, which Apache's API does not have (docs/differences.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from runtime.herder.answers import ConfigHistoryAnswer, DeletedAnswer, PastConfigAnswer
from runtime.rest.http.answers import json_answer
from runtime.rest.resource import Handler, Resource, path_name
from runtime.rest.security.masking import Masks
from runtime.storage.config_history import ConfigAction, ConfigHistory, PastConfig


def config_history_routes(
    history: ConfigHistory, names: Callable[[], Sequence[str]], masks: Masks, ready: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """`names` are those of the connectors that exist; `ready` wraps handlers so that they answer 503 until the stores
    have been read."""

    async def of_connector(r: Request) -> Response:
        """The changes of a connector, newest first; also of a deleted one. Empty for an unknown connector."""
        found = [await _answer(r.scope, masks, past) for past in history.of(path_name(r))]
        answer: ConfigHistoryAnswer = {"history": found}
        return json_answer(answer)

    async def deleted(_: Request) -> Response:
        existing = set(names())
        gone = [(name, history.of(name)[0]) for name in history.names() if name not in existing]
        answer: DeletedAnswer = {
            "deleted": [
                {"name": name, "time": past.time, "who": past.origin.who, "why": past.origin.why}
                for name, past in sorted(gone, key=lambda one: one[1].time, reverse=True)
                if past.action is ConfigAction.DELETE
            ]
        }
        return json_answer(answer)

    return [
        Route("/connectors/{name}/config/history", Resource(get=ready(of_connector))),
        Route("/deleted-connectors", Resource(get=ready(deleted))),
    ]


async def _answer(scope: Scope, masks: Masks, past: PastConfig) -> PastConfigAnswer:
    async def masked(config: Mapping[str, str] | None) -> Mapping[str, str] | None:
        return None if config is None else await masks.config(scope, config)

    return {
        "number": past.number,
        "time": past.time,
        "action": past.action.value,
        "who": past.origin.who,
        "why": past.origin.why,
        "state": past.state,
        "before": await masked(past.before),
        "after": await masked(past.after),
    }
