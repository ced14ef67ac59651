"""The verbs for connectors: apply, patch, state changes, preview, wait."""
