"""The converters bundled with Headrace."""
