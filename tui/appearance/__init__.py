"""The user's settings and themes, and the display without colours."""
