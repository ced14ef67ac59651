"""One cluster's services for its screens: connection, operations, event history, plugin keys.

No module here imports a screen or a widget; `host.Host` describes what the services need of the main screen.
"""
