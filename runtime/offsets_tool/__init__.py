"""`headrace offsets` (KIP-199): offsets of a Connect cluster that is not running, out as JSON and in again."""
