"""The verbs for offsets: altering, history, orphans, export and import."""
