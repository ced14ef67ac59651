"""`headrace offsets` (KIP-199): exports and imports the offsets of a stopped Connect cluster as JSON. The tool uses the
worker's formats and checks, but starts no part of the worker."""
