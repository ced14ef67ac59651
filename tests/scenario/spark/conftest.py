"""Tables of Delta and Iceberg for tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.packages.lakehouse import LakeRecipe, lake_recipe, older_pyspark


@pytest.fixture(params=["Delta", "Iceberg"])
def recipe(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LakeRecipe:
    """The recipe of each format, with the PySpark for which it has jars."""
    monkeypatch.setenv("PYTHONPATH", str(older_pyspark()))
    return lake_recipe(request.param, tmp_path)
