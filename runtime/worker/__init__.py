"""A worker process from start to end: wiring, storage, and standalone mode. Nothing else imports this package."""
