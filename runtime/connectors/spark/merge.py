"""What the task and the session agree on about changes that are merged into a table."""

from __future__ import annotations

DELETED, SEQUENCE = "__deleted", "__sequence"
"""Columns of a batch of changes: whether the row of the key is deleted, and what orders the changes of a key. The table
has the first if deletions keep the row, the second if changes have a sequence."""

UNCHANGED = "__unchanged"
"""Column of a batch of changes, if any of them has such values: the names of the columns that keep their values."""
