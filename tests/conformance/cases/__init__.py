"""Examples of the bundled plugins. A new plugin needs a case here: see test_bundled_plugins.py."""

from __future__ import annotations

from runtime.plugin_kit import Case
from tests.conformance.cases import (
    converters,
    data_source,
    file_connectors,
    files,
    generated,
    http,
    jdbc,
    transformations,
)

CASES: list[Case] = [
    *file_connectors.CASES,
    *files.CASES,
    *jdbc.CASES,
    *generated.CASES,
    *http.CASES,
    *data_source.CASES,
    *transformations.CASES,
    *converters.CASES,
]
"""All cases. The modules of this package have a list for each area."""
