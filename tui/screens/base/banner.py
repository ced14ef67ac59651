"""The result of a change, above the page that sent it; the frame's colour shows success, doubt or refusal."""

from __future__ import annotations

from textual.content import Content

from tui.widgets.pager import Pager


class Banner(Pager, can_focus=False):
    """Hidden while empty; the wheel scrolls a long text. `kind` is a CSS class: `-definite`, `-possible` or
    `-refused`."""

    DEFAULT_CSS = """
    Banner { display: none; height: auto; max-height: 60%; padding: 0 1; border-left: thick $success; }
    Banner.-shown { display: block; }
    Banner.-possible { border-left: thick $warning; }
    Banner.-refused { border-left: thick $error; }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)

    def show(self, content: Content | None, kind: str = "") -> None:
        self.set_classes(f"-shown {kind}" if content is not None else "")
        if content is not None:
            self.put(content, top=True)
