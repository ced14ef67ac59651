"""State of a running task that its own thread writes and other threads read: requests, counts, logs."""
