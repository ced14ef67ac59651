"""Creating a connector: the plugins of the worker, the wizard, the review before the request is sent."""
