"""Contexts of the same cluster are recognized however their URLs are written."""

from __future__ import annotations

import pytest

from tui.contexts.profiles import Profile

HERE = Profile("http://connect:8083", "here", others=("https://standby",))


@pytest.mark.parametrize(
    "url", ["http://connect:8083/", "http://Connect:8083", "http://me:secret@connect:8083", "https://standby:443"]
)
def test_other_spellings_of_a_url_are_the_same_cluster(url: str) -> None:
    assert Profile(url, "there").is_same_cluster(HERE) and HERE.is_same_cluster(Profile(url))


@pytest.mark.parametrize(
    "url", ["https://connect:8083", "http://connect:8084", "http://connect:8083/eu", "replay of x"]
)
def test_other_urls_are_other_clusters(url: str) -> None:
    assert not Profile(url, "there").is_same_cluster(HERE)
