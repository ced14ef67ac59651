"""Workers in a group: which worker runs which connector and task, who leads, and how workers reach each other."""
