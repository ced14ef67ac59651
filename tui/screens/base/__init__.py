"""Parts shared by several pages: page, tab, dialog, banner, text reader, navigation messages, plots, stack traces.

Nothing that belongs to a single page, and no requests: those are in `services` and in the pages' controllers.
"""
