"""The worker's side of the engine: the driver process, slot connections, leases and reports."""
