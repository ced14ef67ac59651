"""The offsets page: table, editor, setting by time, interrupted changes. The rules of changes are in `tui.offsets`."""
