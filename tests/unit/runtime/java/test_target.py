"""Targets of Java classes as text."""

from __future__ import annotations

import pytest

from runtime.java.target import JavaTarget, is_java_target


def test_a_target_survives_its_text() -> None:
    target = JavaTarget("io.x.Source$Inner", "/opt/plug@ins/x-1.0")
    assert str(target) == "java:io.x.Source$Inner@/opt/plug@ins/x-1.0"
    assert JavaTarget.parse(str(target)) == target
    assert is_java_target(str(target))


@pytest.mark.parametrize("text", ["runtime.x:Class", "java:io.x.Source", "javax.x:Y@/z"])
def test_other_targets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a Java class"):
        JavaTarget.parse(text)
