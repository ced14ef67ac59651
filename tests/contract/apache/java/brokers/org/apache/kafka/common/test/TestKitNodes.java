package org.apache.kafka.common.test;

/** The number of brokers. The names are those that EmbeddedKafkaCluster calls. */
public class TestKitNodes {
    final int brokers;

    TestKitNodes(int brokers) { this.brokers = brokers; }

    public static class Builder {
        private int brokers = 1;

        public Builder setCombined(boolean combined) { return this; }
        public Builder setNumControllerNodes(int number) { return this; }
        public Builder setNumBrokerNodes(int number) { brokers = number; return this; }
        public TestKitNodes build() { return new TestKitNodes(brokers); }
    }
}
