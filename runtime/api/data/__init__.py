"""Connect's data model: schemas, structs, logical types, records, and batches of them."""
