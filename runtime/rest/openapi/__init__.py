"""GET /openapi.json: the description of every path, its parameters, bodies and answers."""
