"""Names of bundled transformations: Connect's, and those of Headrace's own."""

from __future__ import annotations

from runtime.transforms.bundled import ABSTRACT, named

K = "org.apache.kafka.connect.transforms."


def test_a_name_without_a_package_is_that_of_connect() -> None:
    assert named("Filter", "filter") == ((f"{K}Filter", "runtime.transforms.filter:Filter"),)
    assert ABSTRACT[f"{K}Cast"] == (f"{K}Cast$Key", f"{K}Cast$Value")


def test_a_transformation_of_headrace_has_a_package_of_its_own() -> None:
    assert named("headrace.Mask", "mask", "Key", "Value") == (
        ("headrace.Mask$Key", "runtime.transforms.mask:MaskKey"),
        ("headrace.Mask$Value", "runtime.transforms.mask:MaskValue"),
    )
