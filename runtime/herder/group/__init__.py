"""Workers in a group: which worker runs which connector and task. Pure functions; no I/O, no clock of their own."""
