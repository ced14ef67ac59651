"""The converters that come with Headrace."""
