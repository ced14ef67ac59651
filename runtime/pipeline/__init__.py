"""The way of a record inside a slot."""
