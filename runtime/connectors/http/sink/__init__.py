"""HttpSink: requests in the order of each partition; retries and refused records."""
