#!/bin/bash
# Starts Spark's executor from the variables that Spark's driver sets in the executor's pod. Other commands run as given.
set -e
[ "$1" = executor ] || exec "$@"
options=()
while read -r name; do
    options+=("${!name}")
done < <(compgen -e SPARK_JAVA_OPT_ | sort -t _ -k 4 -n)
exec tini -- java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$SPARK_CONF_DIR:$SPARK_HOME/jars/*${SPARK_CLASSPATH:+:$SPARK_CLASSPATH}" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
