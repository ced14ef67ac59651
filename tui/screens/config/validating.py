"""Validation of a config by the worker while it is typed: one request after the other, only for the newest text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from tui.client.client import Connect
from tui.config.definitions import Validation, of_validation
from tui.errors import BadRequest, HeadraceError, NotFound
from tui.formatting import one_line


class Validator:
    """`on_change` is called when the validation changes. The result for an older text is shown until the new one
    arrives; `settled` is true if the result concerns the current text."""

    def __init__(self, connect: Callable[[], Connect], on_change: Callable[[], None]) -> None:
        self._connect, self._on_change = connect, on_change
        self._asking = asyncio.Lock()
        self.forget()

    def forget(self) -> None:
        self.validation: Validation | None = None
        self.trouble = ""
        self._wanted: dict[str, str] | None = None
        self._validated: dict[str, str] | None = None

    def want(self, config: Mapping[str, str]) -> bool:
        """Sets the config to validate. True if it is not validated yet."""
        self._wanted = dict(config)
        return self._wanted != self._validated

    @property
    def settled(self) -> bool:
        return self._wanted == self._validated

    def retry(self) -> None:
        """Without a response to the last request, the same config is validated again."""
        if self.trouble:
            self._validated = None

    async def ask(self) -> None:
        """Returns when the newest config is validated."""
        async with self._asking:
            while self._wanted is not None and self._wanted != self._validated:
                config = self._wanted
                self._on_change()
                await self._once(config)
                self._validated = config
        self._on_change()

    async def _once(self, config: dict[str, str]) -> None:
        plugin = config.get("connector.class", "").rpartition(".")[2]
        if not plugin:
            self.validation, self.trouble = Validation(refusal="connector.class is missing"), ""
            return
        try:
            self.validation = of_validation(await self._connect().validate(plugin, config))
            self.trouble = ""
        except (BadRequest, NotFound) as error:  # unknown class: the list of known classes is long
            message = one_line(error.message).partition(", available connectors are")[0]
            self.validation, self.trouble = Validation(refusal=message[:300]), ""
        except HeadraceError as error:
            self.validation, self.trouble = None, one_line(error.message)[:300]
