"""GET /openapi.json: the table of operations, the schemas, and the document built from them."""
