"""The embedded cluster: a real broker and a worker on this machine."""
