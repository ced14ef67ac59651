"""The connectors that come with Headrace."""
