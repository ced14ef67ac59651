"""Java's .properties format."""

from pathlib import Path

import pytest

from runtime.config import properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a", {"a": ""}),
        ("# no\n! no\n\n  a=1", {"a": "1"}),
        ("a=1\\\n   2\\\n3", {"a": "123"}),
        ("path=C\\\\:x\\ty", {"path": "C\\:x\ty"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("u=gr\\u00fcn", {"u": "grün"}),
        ("e=\\ud83d\\ude00", {"e": "😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x#y", {"a": "x#y"}),
    ],
)
def test_properties_are_parsed(text: str, expected: dict[str, str]) -> None:
    assert properties.parse(text) == expected


def test_a_malformed_escape_names_file_and_line() -> None:
    with pytest.raises(properties.PropertiesError, match=r"w\.properties:2: malformed"):
        properties.parse("a=1\nb=\\u12", "w.properties")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(properties.PropertiesError, match=r"nope\.properties: no such file"):
        properties.load(tmp_path / "nope.properties")


def test_lines_end_where_java_ends_them(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_bytes("a=1\rb=2\r\nc=3\fd\x85e\u2028f\n".encode())
    assert properties.load(file) == {"a": "1", "b": "2", "c": "3\fd\x85e\u2028f"}


def test_a_file_in_latin_1(tmp_path: Path) -> None:
    """UTF-8 is tried first; other files are read as ISO 8859-1, as in Java."""
    file = tmp_path / "worker.properties"
    file.write_bytes("topic=grün".encode())
    assert properties.load(file) == {"topic": "grün"}
    file.write_bytes("topic=grün".encode("latin-1"))
    assert properties.load(file) == {"topic": "grün"}


def test_what_is_dumped_is_read_again() -> None:
    values = {"log.dirs": '/home/Zoë "x"\\n/ 日本 😀', "a b=c:d": " blank at the start", "line\nbreak": "1\r\n2\t"}
    text = properties.dump(values)
    assert text.isascii(), "Java reads ISO 8859-1"
    assert properties.parse(text) == values
