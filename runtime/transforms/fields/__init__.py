"""Fields of records as transformations address, check, cast and copy them."""
