"""Workers in a group: which worker runs which connector and task. Functions without I/O."""
