"""Endpoints of the history of configs, which Apache's API does not have (docs/differences.md)."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from runtime.herder.herder import Herder
from runtime.herder.responses import ConfigHistoryResponse, DeletedResponse, PastConfigResponse
from runtime.rest.http.parameters import path_name
from runtime.rest.http.responses import json_response
from runtime.rest.security.masking import Masks
from runtime.storage.config_history import ConfigAction, ConfigHistory, PastConfig


class ConfigHistoryHandlers:
    """Handlers of changes of configurations and of deleted connectors."""

    def __init__(self, herder: Herder, history: ConfigHistory, masks: Masks) -> None:
        self._herder, self._history, self._masks = herder, history, masks

    async def history(self, r: Request) -> Response:
        """The changes of a connector, newest first; also of a deleted one. Empty for an unknown connector."""
        changes = [await _past_config(r.scope, self._masks, past) for past in self._history.of(path_name(r))]
        response: ConfigHistoryResponse = {"history": changes}
        return json_response(response)

    async def deleted(self, _: Request) -> Response:
        existing = set(self._herder.connectors())
        gone = [(name, self._history.of(name)[0]) for name in self._history.names() if name not in existing]
        response: DeletedResponse = {
            "deleted": [
                {"name": name, "time": past.time, "who": past.origin.who, "why": past.origin.why}
                for name, past in sorted(gone, key=lambda deletion: deletion[1].time, reverse=True)
                if past.action is ConfigAction.DELETE
            ]
        }
        return json_response(response)


async def _past_config(scope: Scope, masks: Masks, past: PastConfig) -> PastConfigResponse:
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
