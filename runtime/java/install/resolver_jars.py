"""Maven coordinates of Maven's own resolver, and of what a worker provides to plugins."""

from __future__ import annotations

RESOLVER = (
    "com.google.code.gson:gson:2.13.1",
    "commons-codec:commons-codec:1.18.0",
    "org.apache.httpcomponents:httpclient:4.5.14",
    "org.apache.httpcomponents:httpcore:4.4.16",
    "org.apache.maven.resolver:maven-resolver-api:1.9.24",
    "org.apache.maven.resolver:maven-resolver-connector-basic:1.9.24",
    "org.apache.maven.resolver:maven-resolver-impl:1.9.24",
    "org.apache.maven.resolver:maven-resolver-named-locks:1.9.24",
    "org.apache.maven.resolver:maven-resolver-spi:1.9.24",
    "org.apache.maven.resolver:maven-resolver-supplier:1.9.24",
    "org.apache.maven.resolver:maven-resolver-transport-file:1.9.24",
    "org.apache.maven.resolver:maven-resolver-transport-http:1.9.24",
    "org.apache.maven.resolver:maven-resolver-util:1.9.24",
    "org.apache.maven:maven-artifact:3.9.10",
    "org.apache.maven:maven-builder-support:3.9.10",
    "org.apache.maven:maven-model-builder:3.9.10",
    "org.apache.maven:maven-model:3.9.10",
    "org.apache.maven:maven-repository-metadata:3.9.10",
    "org.apache.maven:maven-resolver-provider:3.9.10",
    "org.codehaus.plexus:plexus-interpolation:1.28",
    "org.codehaus.plexus:plexus-utils:3.6.0",
    "org.ow2.asm:asm:9.8",
    "org.slf4j:jcl-over-slf4j:1.7.36",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-nop:1.7.36",
)
"""org.apache.maven.resolver:maven-resolver-supplier:1.9.24 and a silent SLF4J binding."""

PROVIDED = (
    *(f"org.apache.kafka:{name}" for name in (
        "kafka-clients", "connect-api", "connect-json", "connect-runtime", "connect-transforms")),
    *(f"org.slf4j:{name}" for name in ("slf4j-api", "slf4j-simple", "slf4j-reload4j", "slf4j-log4j12", "slf4j-nop")),
)  # fmt: skip
"""Artifacts that a plugin gets from the worker, so that they are not installed."""
