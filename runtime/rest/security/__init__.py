"""Who may ask what: authentication, roles, TLS, browser protection, masking and the audit log."""
