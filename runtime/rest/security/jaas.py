"""The users of basic authentication: the entry KafkaConnect of the JAAS file names the file, as for Apache's extension.

KafkaConnect {
    org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
    file="/etc/kafka/users.properties";
};
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.api.errors import ConfigError
from runtime.config.jaas.login_file import KEY, OPTION, entry

MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def credentials(props: Mapping[str, str]) -> Path:
    """The file with users and passwords. Raises ConfigError if the JAAS file is missing or malformed."""
    origin, modules = entry("KafkaConnect", props)
    if not origin:
        raise ConfigError(
            f"basic authentication needs a JAAS file: set {KEY}, or -D{OPTION}=FILE in the environment's KAFKA_OPTS"
        )
    if modules is None:
        raise ConfigError(f"{origin}: the entry KafkaConnect {{ … }}; is missing")
    if len(modules) != 1 or modules[0].name != MODULE or not modules[0].options.get("file"):
        raise ConfigError(f'{origin}: the entry KafkaConnect must have the form {MODULE} required file="FILE";')
    return Path(modules[0].options["file"])
