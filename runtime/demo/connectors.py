"""The demo's two connectors: the source generates measurements for the topic `demo`, the sink writes the topic to a
file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
