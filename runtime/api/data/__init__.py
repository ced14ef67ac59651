"""Connect's data model: schemas, structs, logical types and the checks of values against schemas."""
