"""The verbs for connectors: apply, patch, state changes, preview, wait, config history, diff, promote, undo delete."""
