"""Examples of the bundled plugins. A new plugin needs a case here: see test_bundled_plugins.py."""

from __future__ import annotations

from runtime.plugin_kit import Case
from tests.conformance.cases import (
    converters,
    data_source,
    datagen,
    file_connectors,
    files,
    http,
    jdbc,
    predicates,
    transformations,
    verifiable,
)

CASES: list[Case] = [
    *file_connectors.CASES,
    *files.CASES,
    *datagen.CASES,
    *jdbc.CASES,
    *verifiable.CASES,
    *http.CASES,
    *data_source.CASES,
    *transformations.CASES,
    *predicates.CASES,
    *converters.CASES,
]
"""All cases. The modules of this package have a list for each area."""
