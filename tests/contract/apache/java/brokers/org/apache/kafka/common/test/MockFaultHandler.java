package org.apache.kafka.common.test;

/** Faults of the brokers are in the log. */
public class MockFaultHandler {
    public void setIgnore(boolean ignore) { }
}
