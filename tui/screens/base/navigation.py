"""Messages by which screens ask for another one, or report their start. The main screen and the application handle
them."""

from __future__ import annotations

from textual.message import Message

from tui.contexts.profiles import Profile


class ScreenStarted(Message):
    """Keys have their effects on this screen from now on."""


class NamedMessage(Message):
    """A message about the connector, the topic or the theme of this name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class OpenCluster(Message):
    """Show the main screen of another cluster, then `text` in its status line."""

    def __init__(self, profile: Profile, text: str = "") -> None:
        super().__init__()
        self.profile, self.text = profile, text


class ConnectorCreated(NamedMessage):
    """Open the page of a new connector as soon as the cluster lists it."""


class OpenRecords(Message):
    """Show the records of a topic; from `partition` and `offset` on, if given."""

    def __init__(
        self, topic: str, connector: str = "", partition: int | None = None, offset: int | None = None
    ) -> None:
        super().__init__()
        self.topic, self.connector = topic, connector  # `connector` decodes the records by its converters
        self.partition, self.offset = partition, offset


class OpenTopic(NamedMessage):
    """Show the details of the topic of this name."""


class OpenConfigHistory(NamedMessage):
    """Show the history of a connector's config."""


class ChangeInterrupted(NamedMessage):
    """A change of offsets is unfinished: ask how to proceed as soon as the cluster responds."""


class ChooseTheme(NamedMessage):
    """Switch to the theme of this name, or to the next theme if the name is empty."""
