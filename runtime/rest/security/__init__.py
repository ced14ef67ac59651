"""Protection of the REST API: authentication, roles, TLS, browser checks, masked passwords and the audit log."""
