"""Apache Kafka Connect's own integration tests, unchanged, on workers of Headrace: `make apache-suite`.

The compiled tests are on Maven Central. They start workers and brokers through classes for which `java` has others with
the same interface: a worker is a process of Headrace, brokers run in the JVM of the test, and the handles with which a
test watches its connectors are called through RMI, since those run in the worker's JVMs.
"""
