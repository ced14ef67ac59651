"""Which cluster to talk to: contexts, profiles, secrets, policy, and the session built from them."""
