"""Configuration keys common to all connectors, and the validation of connector configurations."""

from runtime.definitions.messages import invalid_message

__all__ = ["invalid_message"]
