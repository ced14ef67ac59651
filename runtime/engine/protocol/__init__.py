"""The protocol between worker, driver and slots: messages, leases, settings. Imports none of the three."""
