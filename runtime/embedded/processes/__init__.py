"""Processes of the embedded cluster: starting, watching, ending, locks, ports, logs."""
