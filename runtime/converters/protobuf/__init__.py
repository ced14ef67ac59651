"""Protobuf: schemas as text and as descriptors, and the conversion of Connect's schemas and values."""
