"""The REST API: routes over the herder, HTTP, security and the OpenAPI document. Rules about connectors belong to the
herder."""
