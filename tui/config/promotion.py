"""The values of a connector for another cluster: the mapping of config.toml, applied to names and configs.

[promote.prod]                         # the context to which connectors are promoted
names = { "staging-" = "" }            # text replaced in names
values = { "db-staging" = "db-prod" }  # text replaced in values
set = { "tasks.max" = "8" }            # keys set in every config
remove = ["log.level"]                 # keys removed from every config
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tui import private_file
from tui.config.secrets import contains_mask, is_masked
from tui.errors import UsageError
from tui.formatting import did_you_mean

FILE = "config.toml"
_TABLES = ("names", "values", "set")


class PromotionMapping(NamedTuple):
    """How names and configs change on the way to another cluster. Longer texts are replaced first."""

    names: Mapping[str, str] = {}
    values: Mapping[str, str] = {}
    set: Mapping[str, str] = {}
    remove: Sequence[str] = ()

    def with_options(self, sets: Mapping[str, str], removes: Sequence[str]) -> PromotionMapping:
        """The mapping with keys that a command sets and removes; they take precedence."""
        kept = [key for key in self.remove if key not in sets]
        return self._replace(set={**self.set, **sets}, remove=(*kept, *removes))

    def name(self, name: str) -> str:
        return _replaced(name, self.names)

    def config(self, config: Mapping[str, str], name: str) -> dict[str, str]:
        """The config for a connector called `name` on the other cluster; its old name is replaced in `name` only."""
        mapped = {key: _replaced(value, self.values) for key, value in config.items() if key not in self.remove}
        return {**mapped, **{key: value for key, value in self.set.items() if key not in self.remove}, "name": name}


def _replaced(text: str, replacements: Mapping[str, str]) -> str:
    """Replaces in one pass, so that no replacement is replaced again."""
    if not replacements:
        return text
    longest_first = sorted(replacements, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda match: replacements[match[0]], text)


def masks(config: Mapping[str, str]) -> list[str]:
    """Keys whose values are masks, which cannot be sent to another cluster."""
    return [key for key, value in config.items() if is_masked(value) or contains_mask(value)]


def load(folder: Path, target: str) -> PromotionMapping:
    """The mapping for a target context in config.toml; empty without one. Raises UsageError."""
    promote = _tables(folder / FILE)
    table = promote.get(target, {}) if isinstance(promote, dict) else promote
    return _mapping(table, f"{folder / FILE}: [promote.{target}]")


def problems(folder: Path, contexts: Collection[str]) -> list[str]:
    """A problem for each invalid mapping in config.toml, and for each whose target is not one of the contexts. Raises
    UsageError."""
    file = folder / FILE
    promote = _tables(file)
    if not isinstance(promote, dict):
        return [f"{file}: promote must be tables: [promote.CONTEXT]"]
    texts = []
    for target, table in promote.items():
        where = f"{file}: [promote.{target}]"
        try:
            _mapping(table, where)
        except UsageError as error:
            texts.append(error.message)
        if target not in contexts:
            meant = did_you_mean(target, contexts)
            texts.append(f"{where} is not used: the context does not exist" + (f"; {meant}" if meant else ""))
    return texts


def _tables(file: Path) -> Any:
    """The value of `promote` in the file. Raises UsageError."""
    import tomllib

    try:
        return tomllib.loads(private_file.read(file, "utf-8-sig")).get("promote", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from None


def _mapping(table: Any, where: str) -> PromotionMapping:
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table")
    if unknown := sorted(table.keys() - {*_TABLES, "remove"}):
        raise UsageError(f"{where} has the unknown key {unknown[0]!r}; expected names, values, set and remove")
    for key in _TABLES:
        part = table.get(key, {})
        if not isinstance(part, dict) or not all(isinstance(value, str) for value in part.values()):
            raise UsageError(f'{where} {key} must be a table of strings, such as {{ "staging" = "prod" }}')
        if key != "set" and "" in part:
            raise UsageError(f"{where} {key}: an empty text cannot be replaced")
    remove = table.get("remove", [])
    if not isinstance(remove, list) or not all(isinstance(key, str) for key in remove):
        raise UsageError(f"{where} remove must be a list of keys")
    return PromotionMapping(table.get("names", {}), table.get("values", {}), table.get("set", {}), tuple(remove))
