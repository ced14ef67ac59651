"""Maven coordinates of the jars of the task host JVM: Kafka's plugin API, its runtime classes that plugins use, and
Kafka's own converters, transformations and file connectors. Nothing else of a Connect worker is needed."""

from __future__ import annotations

HOST = (
    "at.yawk.lz4:lz4-java:1.10.2",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.2",
    "com.fasterxml.jackson.core:jackson-databind:2.21.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.2",
    "com.fasterxml.jackson.module:jackson-module-blackbird:2.21.2",
    "com.github.luben:zstd-jni:1.5.6-10",
    "jakarta.ws.rs:jakarta.ws.rs-api:3.1.0",
    "org.apache.kafka:connect-api:4.3.0",
    "org.apache.kafka:connect-file:4.3.0",
    "org.apache.kafka:connect-json:4.3.0",
    "org.apache.kafka:connect-runtime:4.3.0",
    "org.apache.kafka:connect-transforms:4.3.0",
    "org.apache.kafka:kafka-clients:4.3.0",
    "org.apache.maven:maven-artifact:3.9.15",
    "org.codehaus.plexus:plexus-utils:3.6.1",
    "org.slf4j:slf4j-api:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.7",
)
