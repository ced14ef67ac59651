"""Edited texts on disk, of several consoles."""

from __future__ import annotations

from pathlib import Path

from tui.editor.kept_texts import CONFIG, OFFSETS, KeptTexts


def test_a_text_belongs_to_its_console_until_that_ends(tmp_path: Path) -> None:
    ended, running, other = KeptTexts(tmp_path), KeptTexts(tmp_path), KeptTexts(tmp_path)
    running.keep(OFFSETS, "a/b", {"text": "mine"})
    assert other.take_over(OFFSETS, "a/b") is None and other.left_behind() == []
    other.keep(OFFSETS, "a/b", {"text": "theirs"})
    other.forget_all()
    ended.keep(CONFIG, "c", {"text": "1"})
    ended.keep(CONFIG, "c", {"text": "2"})
    for lock in ended._locks.values():  # as the kernel does
        lock.release()
    assert [(text.kind, text.name) for text in other.left_behind()] == [(CONFIG, "c")]
    left = other.take_over(CONFIG, "c")
    assert left is not None and left.fields == {"text": "2"}
    assert running.take_over(CONFIG, "c") is None, "it is the other console's now"
    other.forget(CONFIG, "c")
    running.forget(OFFSETS, "a/b")
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_no_text(tmp_path: Path) -> None:
    for number, content in enumerate(("", "[]", '{"kind": "config"}', '{"fields": 1}')):
        (tmp_path / f"{number}.json").write_text(content)
    assert KeptTexts(tmp_path).left_behind() == []
