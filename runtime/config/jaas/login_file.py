"""The JAAS file of a worker, which has named entries: KafkaClient for Kafka clients without a `sasl.jaas.config`, and
KafkaConnect for the users of the REST API.

`headrace.jaas.file` names it, or, as in Java, `-Djava.security.auth.login.config` in the environment's KAFKA_OPTS."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from runtime.api.errors import ConfigError
from runtime.config.jaas.entries import JaasError, LoginModule, named_modules
from runtime.system.cache import home_folder

KEY = "headrace.jaas.file"
OPTION = "java.security.auth.login.config"


def entry(name: str, properties: Mapping[str, str]) -> tuple[str, list[LoginModule] | None]:
    """The file's name, empty if none is set, and the login modules of an entry, None if it is missing. Raises
    ConfigError if the file cannot be read."""
    options = system_properties(os.environ.get("KAFKA_OPTS", ""))
    file = properties.get(KEY) or _path(options.get(OPTION, ""))
    if not file:
        return "", None
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{KEY}={file}: cannot read the file: {e}") from None
    try:
        return file, named_modules(text, {"user.home": str(home_folder()), **options}).get(name)
    except JaasError as e:
        raise ConfigError(f"{KEY}={file}: {e}") from None


def system_properties(text: str) -> dict[str, str]:
    """The system properties among a JVM's options."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    pairs = (word[2:].partition("=") for word in words if word.startswith("-D"))
    return {name: value for name, _, value in pairs}


def _path(value: str) -> str:
    """Java accepts a path or URL, and a second `=` before it, which replaces the JDK's own file."""
    value = value.removeprefix("=")
    return unquote(urlsplit(value).path) if value.startswith("file:") else value
