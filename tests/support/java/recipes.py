"""The configurations in docs/java-plugins.md, which tests run with other addresses and names."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parents[3] / "docs" / "java-plugins.md"


def recipe(cls: str, **changes: str) -> dict[str, str]:
    """The config with this simple class name, with other values for keys that it has."""
    config = dict(_recipes()[cls])
    for key, value in changes.items():
        assert key in config, f"{cls} has no key {key}"
        config[key] = value
    return config


@cache
def _recipes() -> dict[str, dict[str, str]]:
    blocks = re.findall(r"```json\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    configs = [json.loads(block)["config"] for block in blocks]
    return {config["connector.class"].rpartition(".")[2]: config for config in configs}
