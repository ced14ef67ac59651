"""Which cluster to talk to: contexts, profiles, secrets and policy."""
