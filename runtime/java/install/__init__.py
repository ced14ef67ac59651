"""`headrace plugin install`: connectors and their dependencies by Maven coordinates, into a folder of `plugin.path`."""
