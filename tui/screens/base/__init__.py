"""What screens are built from: pages, panes, dialogs, and the services of a cluster."""
