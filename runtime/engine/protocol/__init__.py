"""What worker, driver and slots exchange: frames, messages, leases, settings. Imports no side of the exchange."""
