"""The stores of a worker: Connect's config, offset and status topics, and Headrace's own topic; or files."""
