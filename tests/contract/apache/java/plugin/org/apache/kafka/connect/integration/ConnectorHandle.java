package org.apache.kafka.connect.integration;

import java.util.UUID;
import suite.TestJvm;

public class ConnectorHandle {
    private final String name;
    private final String handle = UUID.randomUUID().toString();

    ConnectorHandle(String name) { this.name = name; }
    public String name() { return name; }
    public TaskHandle taskHandle(String id) { return new TaskHandle(name, id); }
    public void recordConnectorStart() { TestJvm.call(test -> test.connector(handle, name, "start")); }
    public void recordConnectorStop() { TestJvm.call(test -> test.connector(handle, name, "stop")); }
}
