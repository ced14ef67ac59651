"""The config page: keys with documentation, editor, validation. Drafts and differences are in `tui.config`."""
