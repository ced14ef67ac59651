"""Asking the worker what it thinks of a config while it is typed: debounced, one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from tui.client.client import Connect
from tui.config.definitions import Validation, of_validation
from tui.errors import BadRequest, HeadraceError, NotFound
from tui.formatting import one_line


class Validator:
    """`told` is called with each change of what is known. The answer to an older text is shown until the new one
    comes; `settled` says whether it is about the text of now."""

    def __init__(self, connect: Callable[[], Connect], told: Callable[[], None]) -> None:
        self._connect, self._told = connect, told
        self._asking = asyncio.Lock()
        self.forget()

    def forget(self) -> None:
        self.validation: Validation | None = None
        self.trouble = ""
        self._wanted: dict[str, str] | None = None
        self._answered: dict[str, str] | None = None

    def want(self, config: Mapping[str, str]) -> bool:
        """Whether a question is due for this config."""
        self._wanted = dict(config)
        return self._wanted != self._answered

    @property
    def settled(self) -> bool:
        return self._wanted == self._answered

    async def ask(self) -> None:
        """Returns when the newest text is answered."""
        async with self._asking:
            while self._wanted is not None and self._wanted != self._answered:
                config = self._wanted
                self._told()
                await self._once(config)
                self._answered = config
        self._told()

    async def _once(self, config: dict[str, str]) -> None:
        plugin = config.get("connector.class", "").rpartition(".")[2]
        if not plugin:
            self.validation, self.trouble = Validation(refusal="connector.class is missing"), ""
            return
        try:
            self.validation = of_validation(await self._connect().validate(plugin, config))
            self.trouble = ""
        except (BadRequest, NotFound) as error:  # it knows no such class; the list of those it knows is long
            said = one_line(error.message).partition(", available connectors are")[0]
            self.validation, self.trouble = Validation(refusal=said[:300]), ""
        except HeadraceError as error:
            self.validation, self.trouble = None, one_line(error.message)[:300]
