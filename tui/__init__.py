"""The terminal console: screen and script over one set of commands."""
