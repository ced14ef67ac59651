"""Class files of Kafka's own jars, and damaged ones."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from runtime.java.discovery.class_file import ClassFile, ClassFormatError
from runtime.java.discovery.class_index import Archive, UnreadableArchiveError
from tests.support.java.connect_jars import connect_jars

_CONNECT = "org/apache/kafka/connect/"


@pytest.fixture(scope="module")
def java_connect() -> Path:
    return connect_jars()


def _class(folder: Path, jar: str, name: str) -> ClassFile:
    with Archive(folder / f"{jar}-4.3.0.jar") as archive:
        return ClassFile(archive.read(f"{_CONNECT}{name}.class"))


def test_a_connector(java_connect: Path) -> None:
    found = _class(java_connect, "connect-file", "file/FileStreamSourceConnector")
    assert found.name == "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert found.super_name == "org.apache.kafka.connect.source.SourceConnector"
    assert found.interfaces == ()
    assert found.is_concrete and found.is_public and found.has_public_default_constructor
    assert {"version", "taskClass", "alterOffsets"} <= {method.name for method in found.methods}
    constant = found.field("TOPIC_CONFIG")
    assert constant is not None
    assert found.string(int.from_bytes(constant.attributes["ConstantValue"])) == "topic"


def test_abstract_classes_and_interfaces_are_not_concrete(java_connect: Path) -> None:
    assert not _class(java_connect, "connect-transforms", "transforms/InsertField").is_concrete
    interface = _class(java_connect, "connect-api", "transforms/Transformation")
    assert not interface.is_concrete and interface.super_name == "java.lang.Object"
    assert "org.apache.kafka.connect.components.ConnectPlugin" in interface.interfaces


def test_every_class_of_connect_is_read(java_connect: Path) -> None:
    read = 0
    for jar in sorted(java_connect.glob("connect-*.jar")):
        with Archive(jar) as archive, zipfile.ZipFile(jar) as reference:
            for entry, data in archive.classes():
                assert data == reference.read(entry)
                found = ClassFile(data)
                assert entry == f"{found.name.replace('.', '/')}.class"
                assert all(method.name for method in found.methods)
                read += 1
    assert read > 400


def test_damaged_classes_are_refused(java_connect: Path) -> None:
    with Archive(java_connect / "connect-file-4.3.0.jar") as archive:
        data = archive.read(f"{_CONNECT}file/FileStreamSinkTask.class")
    for damaged in (b"", b"PK\3\4", data[:4], data[:200]):
        with pytest.raises(ClassFormatError):
            ClassFile(damaged)


def test_an_unreadable_jar_is_reported(tmp_path: Path) -> None:
    jar = tmp_path / "half.jar"
    for content in (b"", b"PK\3\4 and no directory"):
        jar.write_bytes(content)
        with pytest.raises(UnreadableArchiveError, match=r"half\.jar cannot be read"), Archive(jar):
            pass


def test_the_manifest_continues_lines_and_ends_at_the_first_section(tmp_path: Path) -> None:
    jar = tmp_path / "plugin.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\r\nImplementation-Version: 1.2\r\n .3\r\n\r\n"
            "Name: a\r\nImplementation-Version: 9\r\n",
        )
    with Archive(jar) as archive:
        assert archive.manifest() == {"Manifest-Version": "1.0", "Implementation-Version": "1.2.3"}
