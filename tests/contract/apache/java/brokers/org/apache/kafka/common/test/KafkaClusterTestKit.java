package org.apache.kafka.common.test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import kafka.server.BrokerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.metadata.BrokerState;
import scala.Option;
import suite.Ports;

/**
 * Real brokers in the test's JVM, on ports that they keep when a test restarts them; node 0 is also the controller.
 * Apache publishes no jar with its class of this name: this one has the methods that EmbeddedKafkaCluster calls.
 */
public class KafkaClusterTestKit implements AutoCloseable {
    private static final long START_MS = 120_000;
    private final List<Properties> nodes = new ArrayList<>();
    private final List<KafkaRaftServer> servers = new ArrayList<>();
    private final Map<Integer, BrokerServer> brokers = new LinkedHashMap<>();
    private final Path folder;

    private KafkaClusterTestKit(int count, Map<String, Object> overrides) throws IOException {
        folder = Files.createTempDirectory("kafka-brokers");
        String controller = "localhost:" + Ports.free();
        for (int id = 0; id < count; id++) nodes.add(node(id, controller, overrides));
    }

    private Properties node(int id, String controller, Map<String, Object> overrides) {
        Properties node = new Properties();
        node.putAll(overrides);
        String broker = "EXTERNAL://localhost:" + Ports.free();
        node.putIfAbsent("listeners", id == 0 ? broker + ",CONTROLLER://" + controller : broker);
        node.putIfAbsent("advertised.listeners", broker);
        node.putIfAbsent("listener.security.protocol.map", "EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT");
        node.putIfAbsent("inter.broker.listener.name", "EXTERNAL");
        node.put("controller.listener.names", "CONTROLLER");
        node.put("process.roles", id == 0 ? "broker,controller" : "broker");
        node.put("node.id", String.valueOf(id));
        node.put("controller.quorum.voters", "0@" + controller);
        node.put("log.dirs", folder.resolve("node" + id).toString());
        node.put("log.cleaner.dedupe.buffer.size", "2097152");
        return node;
    }

    public static class Builder {
        private final TestKitNodes nodes;
        private final Map<String, Object> overrides = new HashMap<>();

        public Builder(TestKitNodes nodes) { this.nodes = nodes; }
        public Builder setConfigProp(String key, Object value) { overrides.put(key, String.valueOf(value)); return this; }
        public KafkaClusterTestKit build() throws IOException { return new KafkaClusterTestKit(nodes.brokers, overrides); }
    }

    public MockFaultHandler nonFatalFaultHandler() { return new MockFaultHandler(); }

    public void format() throws IOException {
        String cluster = Uuid.randomUuid().toString();  // never begins with a hyphen
        for (Properties node : nodes) {
            Path file = Files.createTempFile(folder, "server", ".properties");
            try (OutputStream out = Files.newOutputStream(file)) { node.store(out, null); }
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            int code = StorageTool.execute(new String[] {"format", "-t", cluster, "-c", file.toString()}, new PrintStream(text));
            if (code != 0) throw new IllegalStateException("format: " + text);
        }
    }

    public void startup() throws Exception {
        Field broker = KafkaRaftServer.class.getDeclaredField("broker");
        broker.setAccessible(true);
        for (Properties node : nodes) {
            KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(node, false), Time.SYSTEM);
            servers.add(server);
            brokers.put(brokers.size(), (BrokerServer) ((Option<?>) broker.get(server)).get());
        }
        List<Thread> threads = servers.stream().map(server -> new Thread(server::startup)).collect(Collectors.toList());
        threads.forEach(Thread::start);  // the controller is not ready before it has its node's broker
        for (Thread thread : threads) thread.join();
    }

    public void waitForReadyBrokers() throws InterruptedException {
        long end = System.currentTimeMillis() + START_MS;
        while (!brokers.values().stream().allMatch(b -> b.brokerState() == BrokerState.RUNNING)) {
            if (System.currentTimeMillis() > end) throw new IllegalStateException("the brokers have not started");
            Thread.sleep(50);
        }
    }

    public Map<Integer, BrokerServer> brokers() { return brokers; }

    public String bootstrapServers() {
        return nodes.stream().map(node -> node.getProperty("advertised.listeners").replaceFirst(".*//", ""))
            .collect(Collectors.joining(","));
    }

    @Override
    public void close() throws IOException {
        for (int id = servers.size() - 1; id >= 0; id--) servers.get(id).shutdown();
        servers.forEach(KafkaRaftServer::awaitShutdown);
        Utils.delete(folder.toFile());
    }
}
