"""Targets that are written directly."""

from __future__ import annotations

from runtime.engine.driver.session.operations import write_directly


class _Writer:
    """As Spark's DataFrame and its writer: notes the format."""

    found = ""

    @property
    def write(self) -> _Writer:
        return self

    def format(self, name: str) -> _Writer:
        self.found = name
        return self

    def mode(self, name: str) -> _Writer:
        return self

    def options(self) -> _Writer:
        return self

    def saveAsTable(self, name: str) -> None:
        """Nothing is written."""


def test_avro_tables_are_written_without_the_jar_that_registers_the_name() -> None:
    frame = _Writer()
    target = {"format": "avro", "mode": "append", "options": {}, "partition_by": [], "table": "t", "path": ""}
    write_directly(None, frame, target)
    assert frame.found == "org.apache.spark.sql.avro.AvroFileFormat"
