"""The demo's two connectors: the source generates measurements for the topic `demo`, the sink writes the topic to a
file."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from pathlib import Path

from runtime.kafka.clients.open_clients import admin_client


def create_once(files: DemoFiles, url: str, bootstrap: str) -> None:
    """Creates the demo unless it was created before. OSError or HTTPException if the worker does not respond."""
    if files.created.exists():
        return
    files.folder.mkdir(parents=True, exist_ok=True)
    _create_topic(bootstrap)
    for name, config in configs(files).items():
        _create_connector(url, name, config)
    files.created.touch()


def _create_topic(bootstrap: str) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    # With one partition, the output has the order of the measurements.
    with admin_client({"bootstrap.servers": bootstrap}) as admin:
        for future in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
            try:
                future.result(30)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise


def _create_connector(url: str, name: str, config: dict[str, str]) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60.0)
    try:
        body = json.dumps({"name": name, "config": config})
        connection.request("POST", "/connectors", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        body_text = response.read().decode(errors="replace")
    finally:
        connection.close()
    if response.status not in (201, 409):  # 409: created by an earlier start that was interrupted
        raise http.client.HTTPException(f"Creating connector {name} failed with status {response.status}: {body_text}")


TOPIC = "demo"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """The files of the demo."""

    folder: Path

    @property
    def sink(self) -> Path:
        """The output of the sink connector."""
        return self.folder / "out.txt"

    @property
    def created(self) -> Path:
        """Exists once the connectors have been created, so that connectors deleted by the operator are not
        recreated."""
        return self.folder / "created"


def configs(files: DemoFiles) -> dict[str, dict[str, str]]:
    """The configurations of the connectors by name."""
    return {
        "demo-source": {
            "connector.class": "DatagenSource",
            "tasks.max": "1",
            "topic": TOPIC,
            "template": "measurements",
            "rate": "1",
        },
        "demo-sink": {
            "connector.class": "FileStreamSink",
            "tasks.max": "1",
            "topics": TOPIC,
            "file": str(files.sink),
            "key.converter": _STRINGS,
            "value.converter": _STRINGS,
        },
    }
