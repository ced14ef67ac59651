"""The state of clusters as the screen sees it: the store, its snapshots, and the overview of all clusters."""
