"""Processes of the embedded cluster: start and end, locks, ports and logs. Knows neither broker nor worker."""
