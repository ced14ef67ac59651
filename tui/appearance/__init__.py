"""The user's settings, themes and colours."""
