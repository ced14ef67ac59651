"""Coordinates as operators write them."""

from __future__ import annotations

import pytest

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError


def test_parts() -> None:
    text = "io.example:connector:3.2.0.Final:plugin@tar.gz"
    coordinate = Coordinate.parse(text)
    assert coordinate == Coordinate("io.example", "connector", "3.2.0.Final", "plugin", "tar.gz")
    assert coordinate.is_archive and coordinate.folder_name == "connector-3.2.0.Final"
    assert str(coordinate) == text
    assert Coordinate.parse("g:a:1") == Coordinate("g", "a", "1") and not Coordinate.parse("g:a:1").is_archive
    assert Coordinate.parse("g:a:1@zip") == Coordinate("g", "a", "1", "", "zip")
    assert Coordinate.parse("g:a:1:all").classifier == "all"


@pytest.mark.parametrize("text", ["", "a:b", "a:b:", "a:b:1:", "a:b:1@", "a b:c:1", "a:../b:1", "a:b:..", "a:b:1:c:d"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InstallError, match="is not a Maven coordinate"):
        Coordinate.parse(text)


def test_other_extensions_are_refused() -> None:
    with pytest.raises(InstallError, match=r"the extension must be jar, tar\.gz, tgz or zip"):
        Coordinate.parse("a:b:1@war")
