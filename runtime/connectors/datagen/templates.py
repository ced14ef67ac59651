"""The named templates of DatagenSource: fields with their generators, and the field for the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class DatagenTemplate(NamedTuple):
    """Fields as in the key `fields`, and the field that is the key of the records by default."""

    key_field: str
    fields: Mapping[str, Mapping[str, Any]]


_COUNTRIES = {"values": ["DE", "FR", "ES", "IT", "PL", "NL", "US", "JP"], "weights": [20, 16, 12, 12, 10, 6, 18, 6]}

TEMPLATES: Mapping[str, DatagenTemplate] = {
    "orders": DatagenTemplate(
        "order_id",
        {
            "order_id": {"generator": "sequence", "start": 1},
            "customer_id": {"generator": "integer", "min": 1, "max": 10_000},
            "item": {"generator": "pattern", "pattern": "SKU-####"},
            "quantity": {"generator": "integer", "min": 1, "max": 9},
            "amount": {"generator": "number", "min": 1, "max": 500, "digits": 2},
            "status": {
                "generator": "choice",
                "values": ["created", "paid", "shipped", "cancelled"],
                "weights": [4, 3, 2, 1],
            },
            "created_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 1000},
        },
    ),
    "users": DatagenTemplate(
        "user_id",
        {
            "user_id": {"generator": "sequence", "start": 1},
            "name": {"generator": "pattern", "pattern": "user-????"},
            "country": {"generator": "choice", **_COUNTRIES},
            "birth_year": {"generator": "integer", "min": 1940, "max": 2010},
            "subscribed": {"generator": "boolean", "probability": 0.7},
            "referrer": {"generator": "choice", "values": ["search", "newsletter", "friend"], "null": 0.4},
            "registered_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 60_000},
        },
    ),
    "clicks": DatagenTemplate(
        "session",
        {
            "session": {"generator": "pattern", "pattern": "s-######"},
            "user_id": {"generator": "integer", "min": 1, "max": 10_000, "null": 0.2},
            "page": {
                "generator": "choice",
                "values": ["/", "/search", "/item", "/cart", "/checkout"],
                "weights": [30, 25, 30, 10, 5],
            },
            "duration_ms": {"generator": "integer", "min": 5, "max": 3000},
            "status": {"generator": "choice", "values": [200, 304, 404, 500], "weights": [90, 6, 3, 1]},
            "clicked_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 100},
        },
    ),
    "measurements": DatagenTemplate(
        "gate",
        {
            "number": {"generator": "sequence", "start": 1},
            "gate": {"generator": "sequence", "start": 1, "modulo": 4},
            "flow": {"generator": "wave", "min": 20, "max": 40, "period": 360, "noise": 0.5, "digits": 2},
            "level": {"generator": "wave", "min": 7, "max": 9, "period": 280, "noise": 0.05, "digits": 2},
            "unit": {"generator": "choice", "values": ["m"]},
        },
    ),
}
