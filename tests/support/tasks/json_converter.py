"""JsonConverter as workers configure it."""

from __future__ import annotations

from runtime.converters.json.json import JsonConverter


def json_converter(schemas: bool = True, is_key: bool = False, /, **config: str) -> JsonConverter:
    """The keys of `config` have underscores in place of dots."""
    converter = JsonConverter()
    keys = {name.replace("_", "."): text for name, text in config.items()}
    converter.configure({"schemas.enable": str(schemas).lower(), **keys}, is_key)
    return converter
