"""`headrace offsets` (KIP-199): exports and imports the offsets of a stopped Connect cluster as JSON. It shares
formats and checks with the worker, and starts none of its parts."""
