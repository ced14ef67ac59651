"""The JAAS file of basic authentication, which names the file of users, in the format of Apache's extension.

    KafkaConnect {
        org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
        file="/etc/kafka/users.properties";
    };

The worker finds it in `headrace.jaas.file`, or, like Java, in KAFKA_OPTS (-Djava.security.auth.login.config=FILE).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from runtime.api.errors import ConfigError

KEY = "headrace.jaas.file"
MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
_OPTION = "-Djava.security.auth.login.config="
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"KafkaConnect\s*\{(.*?)\}\s*;", re.DOTALL)
_FILE = re.compile(re.escape(MODULE) + r"""\s+required\s+file\s*=\s*(?:"([^"]+)"|([^\s;"]+))\s*;""")


def credentials(props: Mapping[str, str]) -> Path:
    """The file with users and passwords. Raises ConfigError if the JAAS file is missing or malformed."""
    file = props.get(KEY) or _from_environment(os.environ.get("KAFKA_OPTS", ""))
    if not file:
        raise ConfigError(
            f"basic authentication needs a JAAS file: set {KEY}, or {_OPTION}FILE in the environment's KAFKA_OPTS"
        )
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{KEY}={file}: cannot read the file: {e}") from None
    return _users_file(file, _COMMENTS.sub(lambda c: c[0] if "://" in c[0] else "", text))


def _users_file(origin: str, text: str) -> Path:
    entry = _ENTRY.search(text)
    if entry is None:
        raise ConfigError(f"{origin}: the entry KafkaConnect {{ … }}; is missing")
    match = _FILE.search(entry[1])
    if match is None:
        raise ConfigError(f'{origin}: the entry KafkaConnect must have the form {MODULE} required file="FILE";')
    return Path(match[1] or match[2])


def _from_environment(options: str) -> str | None:
    try:
        words = shlex.split(options)
    except ValueError:
        words = options.split()
    return next((w[len(_OPTION) :] for w in words if w.startswith(_OPTION)), None)
