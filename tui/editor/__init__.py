"""Editing offsets as JSON: places, shapes, differences, and applying them. Knows nothing of Textual."""
