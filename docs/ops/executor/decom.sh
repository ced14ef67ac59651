#!/bin/sh
# preStop hook of executors: Spark decommissions the executor, whose end is also that of this script. Kubernetes ends both
# when the grace period of the pod has passed.
kill -s PWR 1
exec sleep infinity
