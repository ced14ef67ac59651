"""The layouts of `plugin.path` that Connect accepts."""

from __future__ import annotations

from pathlib import Path

from runtime.java.discovery.locations import class_path, plugin_locations


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_folders_and_single_jars_of_an_element_are_locations(tmp_path: Path) -> None:
    one = _file(tmp_path / "plugins" / "one" / "a.jar").parent
    single = _file(tmp_path / "plugins" / "single.JAR")
    _file(tmp_path / "plugins" / "readme.txt")
    named = _file(tmp_path / "elsewhere" / "named.zip")
    elements = [str(tmp_path / "plugins"), str(named), str(tmp_path / "absent"), str(tmp_path / "x" / ".." / "plugins")]
    assert plugin_locations(elements) == [one, single, named]


def test_jars_are_found_at_any_depth_and_sorted(tmp_path: Path) -> None:
    expected = [_file(tmp_path / "p" / name) for name in ("a.jar", "lib/b.jar", "lib/deep/c.zip")]
    _file(tmp_path / "p" / "doc" / "index.html")
    assert class_path(tmp_path / "p") == expected
    assert class_path(expected[0]) == [expected[0]]


def test_class_files_count_only_without_jars(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    _file(folder / "com" / "A.class")
    assert class_path(folder) == [folder]
    jar = _file(folder / "a.jar")
    assert class_path(folder) == [jar]


def test_links_are_followed_once(tmp_path: Path) -> None:
    jar = _file(tmp_path / "store" / "a.jar")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "linked.jar").symlink_to(jar)
    (folder / "again").symlink_to(folder)
    (folder / "store").symlink_to(jar.parent)
    assert class_path(folder) == [jar]
