"""Processes of the embedded cluster: start and end, ports and logs. Independent of broker and worker."""
