package org.apache.kafka.connect.util.clusters;

import jakarta.ws.rs.core.Response;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.test.TestUtils;
import suite.HeadraceWorker;

/** A standalone worker in a process of its own, with the interface of Apache's class. */
public class EmbeddedConnectStandalone extends EmbeddedConnect {
    private static final String STRING = "org.apache.kafka.connect.storage.StringConverter";
    private final Map<String, String> properties;
    private final List<Map<String, String>> connectors;
    private volatile WorkerHandle worker;

    private EmbeddedConnectStandalone(int brokers, Properties brokerProperties, boolean mask, Map<String, String> clients,
            Map<String, String> properties, List<Map<String, String>> connectors) {
        super(brokers, brokerProperties, mask, clients);
        this.properties = properties;
        this.connectors = connectors;
    }

    @Override
    public void startConnect() {
        properties.put("bootstrap.servers", kafka().bootstrapServers());
        properties.put("listeners", "HTTP://localhost:0");
        properties.putIfAbsent("key.converter", STRING);
        properties.putIfAbsent("value.converter", STRING);
        properties.putIfAbsent("plugin.discovery", "hybrid_fail");
        List<String> files = new ArrayList<>();
        for (Map<String, String> connector : connectors) files.add(file(connector));
        HeadraceWorker process = new HeadraceWorker("standalone", properties, files);
        worker = new WorkerHandle("standalone", process);  // whose health a test reads during the start
        process.awaitStart();
    }

    private static String file(Map<String, String> config) {
        Properties stored = new Properties();
        stored.putAll(config);
        try {
            File file = TestUtils.tempFile("connector", ".properties");
            try (OutputStream out = Files.newOutputStream(file.toPath())) { stored.store(out, null); }
            return file.getAbsolutePath();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    protected Set<WorkerHandle> workers() { return worker != null ? Set.of(worker) : Set.of(); }
    public Response healthCheck() { return healthCheck(worker); }
    public ConnectMetrics connectMetrics() { throw new UnsupportedOperationException("metrics of another process"); }

    public static class Builder extends EmbeddedConnectBuilder<EmbeddedConnectStandalone, Builder> {
        private final List<Map<String, String>> connectors = new ArrayList<>();
        private String offsets;

        public Builder offsetsFile(String file) { offsets = file; return this; }
        public Builder withCommandLineConnector(Map<String, String> config) { connectors.add(config); return this; }

        @Override
        protected EmbeddedConnectStandalone build(int brokers, Properties brokerProperties, boolean mask,
                Map<String, String> clients, Map<String, String> properties) {
            try {
                String file = offsets != null ? offsets : TestUtils.tempFile("offsets", "").getAbsolutePath();
                properties.putIfAbsent("offset.storage.file.filename", file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return new EmbeddedConnectStandalone(brokers, brokerProperties, mask, clients, properties, connectors);
        }
    }
}
