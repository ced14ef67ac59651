"""HttpSink and HttpSource: requests to an HTTP endpoint for records, and records from a JSON API.

sink.py, source.py            the connectors and their configuration
sink_task.py, source_task.py  the tasks
lanes.py, deliveries.py       sink: requests in the order of each partition; retries and refused records
pages.py, traversal.py        source: pages of a JSON API, and the position in them
endpoint.py, credentials.py   both: requests with credentials, TLS and redirects
"""
