"""HttpSink and HttpSource: requests to an HTTP endpoint for records, and records from a JSON API.

source/, sink/                the connectors
endpoint.py, credentials.py   both: requests with credentials, TLS and redirects
failures.py                   both: which requests are repeated, and when
"""
