"""FilesSource: configurations and altered offsets."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.files.source.connector import FilesSourceConnector

CONFIG = {"url": "/data", "topic": "rows", "pattern": "**/*.json"}
FILE = {"path": "a/b.json"}


def test_valid_offsets_are_accepted() -> None:
    offsets: list[Any] = [
        (FILE, {"row": 0}),
        (FILE, {"row": 3, "size": 9, "modified": 5, "done": True}),
        (FILE, {"row": 3, "modified": -2_000}),  # before 1970
        (FILE, {"row": 3, "position": 9, "check": "4-0a", "block_row": 0, "block": 0}),
        (FILE, None),
        ({"filename": "of an earlier connector"}, None),
    ]
    assert FilesSourceConnector().alter_offsets(CONFIG, offsets) is True


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (None, {"row": 1}, "has the key 'path' only"),
        ({"path": 3}, {"row": 1}, "has the key 'path' only"),
        ({"path": "a.json", "x": 1}, {"row": 1}, "has the key 'path' only"),
        ({"path": "a.csv"}, {"row": 1}, "does not match its pattern"),
        (FILE, {}, "needs the key 'row'"),
        (FILE, {"row": -1}, "whole number from 0"),
        (FILE, {"row": True}, "whole number from 0"),
        (FILE, {"row": "1"}, "whole number from 0"),
        (FILE, {"row": 1, "size": 1.5}, "whole number from 0"),
        (FILE, {"row": 1, "done": 1}, "true or false"),
        (FILE, {"lines": 1}, "not 'lines'"),
        (FILE, {"row": 1, "position": -1}, "whole number from 0"),
        (FILE, {"row": 1, "check": "x"}, "must have been stored by the connector"),
    ],
)
def test_invalid_offsets_are_refused(partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        FilesSourceConnector().alter_offsets(CONFIG, [(partition, offset)])


@pytest.mark.parametrize(
    ("archive", "message"),
    [("", "Missing required"), ("s3://bucket/x", "same file system"), ("/data/done", "must not be within url")],
)
def test_the_archive_is_checked(archive: str, message: str) -> None:
    config = {**CONFIG, "finished.files": "archive", "archive.url": archive}
    (errors,) = [value.errors for value in FilesSourceConnector().validate(config) if value.errors]
    assert message in errors[0]
    with pytest.raises(ConfigError, match=message):
        FilesSourceConnector().start(config)


def test_offsets_are_exact() -> None:
    assert FilesSourceConnector().exactly_once_support(CONFIG) is ExactlyOnceSupport.SUPPORTED
