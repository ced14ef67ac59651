"""Config providers: resolve `${provider:path:key}` from files, directories and environment variables.

The providers have Apache's class names and parameters (KIP-297, KIP-632, KIP-887, KIP-993). A variable without a value
remains unresolved, as in Apache's worker. A path that is not allowed is an error; Apache's worker only logs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config import properties
from runtime.config.foreign_plugins import NONE, ConfigProvider, ExpiringProvider, ForeignPlugins
from runtime.config.properties import comma_separated, with_prefix
from runtime.system.allowed_folders import AllowedFolders, OutsideError

_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_LARGEST = 16 << 20  # bytes
_PACKAGE = "org.apache.kafka.common.config.provider."


@dataclass(frozen=True, slots=True)
class _Allowed:
    """`allowed.paths`: these files, and files below these folders; empty: all files."""

    paths: tuple[Path, ...]

    def read(self, path: str) -> bytes:
        """The content of a file. OSError; ConfigError for a path that is not allowed, and for a file that is too large,
        such as /dev/zero."""
        try:
            descriptor = AllowedFolders(self.paths, "allowed.paths").open(path, os.O_RDONLY)
        except OutsideError:
            raise ConfigError(f"{path} is not below one of the config provider's allowed.paths") from None
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ConfigError(f"{path} is larger than the {_LARGEST >> 20} MiB that a config provider reads")
        return content

    def check(self, path: str) -> None:
        """ConfigError for a path that is not allowed."""
        if not AllowedFolders(self.paths).contains(path):
            raise ConfigError(f"{path} is not below one of the config provider's allowed.paths")


@dataclass(frozen=True, slots=True)
class FileProvider:
    """`${file:/path/to.properties:key}`"""

    allowed: _Allowed

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        if not path:
            return {}
        try:
            return properties.decode(self.allowed.read(path), path)
        except (properties.PropertiesError, OSError):
            raise ConfigError(f"Could not read properties from file {path}") from None


@dataclass(frozen=True, slots=True)
class DirectoryProvider:
    """`${dir:/folder:file}`: the content of a file."""

    allowed: _Allowed

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        return {key: self._value(path, key) for key in keys}

    def _value(self, path: str, key: str) -> str | None:
        if not path or not key:
            return None
        self.allowed.check(path)
        if key in (".", "..") or "/" in key:
            raise ConfigError(f"{key} is not the name of a file in {path}")
        file = Path(path, key)
        self.allowed.check(str(file))
        if not file.is_file():
            return None
        try:
            return self.allowed.read(str(file)).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"Could not read file {file}") from None


@dataclass(frozen=True, slots=True)
class EnvironmentProvider:
    """`${env:NAME}`"""

    allowed: re.Pattern[str]

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        if path:
            raise ConfigError(f"Path is not supported for environment variables, invalid value '{path}'")
        for key in keys:
            if key in os.environ and not self.allowed.fullmatch(key):
                raise ConfigError(f"Environment variable {key} does not match the config provider's allowlist.pattern")
        return {key: os.environ.get(key) for key in keys}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A configuration with variables resolved, and the values that must not be shown."""

    config: dict[str, str]
    secrets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Providers:
    """The config providers of a worker, by name."""

    by_name: Mapping[str, ConfigProvider] = field(default_factory=dict)

    def resolve(self, config: Mapping[str, str]) -> Resolved:
        """Resolve variables once: variables in a provider's value are not resolved again. ConfigError from a
        provider."""
        if not self.by_name:
            return Resolved(dict(config))
        secrets: set[str] = set()
        values = self._values(config)

        def value(match: re.Match[str]) -> str:
            value = values.get((match[1], (match[2] or "").strip()), {}).get(match[3].strip())
            if value is None:
                return match[0]
            secrets.add(value)
            return value

        resolved = {k: _VARIABLE.sub(value, v) if "${" in v else v for k, v in config.items()}
        return Resolved(resolved, frozenset(secrets))

    def _values(self, config: Mapping[str, str]) -> dict[tuple[str, str], Mapping[str, str | None]]:
        """The values of all variables, by provider and path."""
        keys: dict[tuple[str, str], dict[str, None]] = {}
        for value in config.values():
            for match in _VARIABLE.finditer(value) if "${" in value else ():
                keys.setdefault((match[1], (match[2] or "").strip()), {})[match[3].strip()] = None
        return {
            (name, path): self.by_name[name].values(path, list(wanted))
            for (name, path), wanted in keys.items()
            if name in self.by_name
        }

    def ttl(self, config: Mapping[str, str]) -> float | None:
        """Seconds after which the first value expires that was resolved last for this configuration; None: never."""
        used = {(m[1], (m[2] or "").strip()) for value in config.values() for m in _VARIABLE.finditer(value)}
        ttls = []
        for name, path in used:
            provider: object = self.by_name.get(name)
            ttl = provider.ttl(path) if isinstance(provider, ExpiringProvider) else None
            ttls += [] if ttl is None else [ttl]
        return min(ttls, default=None)

    def keep_variables(self, raw: Mapping[str, str], derived: Mapping[str, str]) -> dict[str, str]:
        """A task's configuration with the variables of its connector's configuration, so that no resolved value is
        stored."""
        return {k: raw[k] if has_variables(raw.get(k, "")) else v for k, v in derived.items()}


def has_variables(value: str | None) -> bool:
    """Whether a value contains `${provider:…}`, whether or not the provider exists."""
    return value is not None and _VARIABLE.search(value) is not None


def only_variables(value: str) -> bool:
    """Whether a value consists of variables, so that it may be shown."""
    return has_variables(value) and not _VARIABLE.sub("", value).strip()


def file_providers(all_of_them: Providers) -> Providers:
    """Those of the providers whose values are in files."""
    return Providers({k: p for k, p in all_of_them.by_name.items() if isinstance(p, FileProvider | DirectoryProvider)})


def providers(props: Mapping[str, str], foreign: ForeignPlugins = NONE) -> Providers:
    """The config providers named in a worker's file; ConfigError for a class that this worker does not have."""
    names = comma_separated(props.get("config.providers", ""))
    return Providers({name: _provider(name, props, foreign) for name in names})


def _provider(name: str, props: Mapping[str, str], foreign: ForeignPlugins) -> ConfigProvider:
    prefix = f"config.providers.{name}."
    cls = props.get(f"{prefix}class", "")
    make = _MAKERS.get(cls.removeprefix(_PACKAGE))
    if make is not None:
        return make(f"{prefix}param.", props)
    provider = foreign.provider(props, cls, with_prefix(props, f"{prefix}param."))
    if provider is None:
        known = ", ".join(_PACKAGE + k for k in _MAKERS)
        raise ConfigError(
            f"{prefix}class={cls}: this worker does not have this class; add its jars, with an entry in "
            f"META-INF/services, to plugin.path, or choose from {known}"
        )
    return provider


def _allowed_paths(prefix: str, props: Mapping[str, str]) -> _Allowed:
    key = f"{prefix}allowed.paths"
    paths = [Path(path) for path in comma_separated(props.get(key, ""))]
    for path in paths:
        if not path.is_absolute() or not path.exists():
            raise ConfigError(f"{key}: {path} {'does not exist' if path.is_absolute() else 'is not absolute'}")
    return _Allowed(tuple(path.resolve() for path in paths))


def _environment(prefix: str, props: Mapping[str, str]) -> EnvironmentProvider:
    key = f"{prefix}allowlist.pattern"
    try:
        return EnvironmentProvider(re.compile(props.get(key) or ".*", re.DOTALL))
    except re.error as e:
        raise ConfigError(f"{key}: {e}") from None


_MAKERS: Mapping[str, Callable[[str, Mapping[str, str]], ConfigProvider]] = {
    "FileConfigProvider": lambda prefix, props: FileProvider(_allowed_paths(prefix, props)),
    "DirectoryConfigProvider": lambda prefix, props: DirectoryProvider(_allowed_paths(prefix, props)),
    "EnvVarConfigProvider": _environment,
}
