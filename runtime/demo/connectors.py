"""The demo's two connectors: the source copies the lines of a file to the topic `demo`, the sink copies them to another
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
    def source(self) -> Path:
        """The input of the source connector."""
        return self.folder / "in.txt"

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
