"""The keys that all connectors have, and the validation of whole connector configurations."""

from runtime.definitions.messages import invalid_message

__all__ = ["invalid_message"]
