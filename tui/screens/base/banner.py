"""The result of a change, above the page that sent it; the frame's colour shows success, doubt or refusal."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Banner(Static):
    """Hidden while empty. `kind` is a CSS class: `-definite`, `-possible` or `-refused`."""

    DEFAULT_CSS = """
    Banner { display: none; height: auto; max-height: 8; padding: 0 1; border-left: thick $success; }
    Banner.-shown { display: block; }
    Banner.-possible { border-left: thick $warning; }
    Banner.-refused { border-left: thick $error; }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)

    def put(self, content: Content | None, kind: str = "") -> None:
        self.set_classes(f"-shown {kind}" if content is not None else "")
        if content is not None:
            self.update(content)
