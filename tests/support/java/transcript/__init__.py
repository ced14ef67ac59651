"""Java plugins of every kind that write down what a worker calls and what its API returns, to compare workers line by
line.

writer.py          the file that they write to
chain.py           connectors with their chains, which call what the API offers
worker_plugins.py  config provider, client config override policy and REST extension
unruly.py          connectors that exit, hang, exhaust the heap, leave threads behind or load native libraries
sides.py           Apache's worker and ours, with these plugins
scenarios.py       what happens to the connectors of chain.py
"""
