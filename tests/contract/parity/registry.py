"""The table of scenarios, which their decorators fill."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.parity.recorder import Recorder

Scenario = Callable[[Recorder], None]

SCENARIOS: dict[str, Scenario] = {}
GROUPS: dict[str, str] = {}
"""The group of each scenario."""


def scenario(group: str) -> Callable[[Scenario], Scenario]:
    """Registers a function under its name."""

    def register(function: Scenario) -> Scenario:
        name = function.__name__
        assert name not in SCENARIOS, f"two scenarios are called {name}"
        SCENARIOS[name], GROUPS[name] = function, group
        return function

    return register
