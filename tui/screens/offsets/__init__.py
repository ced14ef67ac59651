"""The offsets page: table, editor, seeking by time, unfinished changes."""
