"""The demo's two connectors: a file's lines into the topic `demo`, and that topic's records into another file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TOPIC = "demo"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Where the demo reads and writes."""

    folder: Path

    @property
    def source(self) -> Path:
        return self.folder / "in.txt"

    @property
    def sink(self) -> Path:
        return self.folder / "out.txt"

    @property
    def created(self) -> Path:
        """There once the connectors have been created: those that the operator deletes do not come back."""
        return self.folder / "created"


def configs(files: DemoFiles) -> dict[str, dict[str, str]]:
    """Connector configs by name."""
    common = {"tasks.max": "1", "key.converter": _STRINGS, "value.converter": _STRINGS}
    return {
        "demo-source": {
            "connector.class": "FileStreamSource",
            "file": str(files.source),
            "topic": TOPIC,
            **common,
        },
        "demo-sink": {
            "connector.class": "FileStreamSink",
            "file": str(files.sink),
            "topics": TOPIC,
            **common,
        },
    }
