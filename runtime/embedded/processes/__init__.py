"""Processes of the embedded cluster: start and end, locks, ports and logs. Independent of broker and worker."""
