"""One cluster's services for its screens: connection, operations, event history, plugin keys.

No module here imports a screen or a widget; `host.Host` describes the parts of the main screen that the services use.
"""
