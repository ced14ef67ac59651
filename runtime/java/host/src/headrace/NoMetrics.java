package headrace;

import java.util.LinkedHashMap;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.MetricValueProvider;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.Sensor;

/** Accepts the metrics of plugins (KIP-877), which are kept in this process. */
final class NoMetrics implements PluginMetrics {
    static final NoMetrics INSTANCE = new NoMetrics();

    private final Metrics metrics = new Metrics(new MetricConfig());

    public MetricName metricName(String name, String description, LinkedHashMap tags) {
        return metrics.metricName(name, "plugins", description, tags);
    }

    public void addMetric(MetricName name, MetricValueProvider provider) {
        metrics.addMetricIfAbsent(name, null, provider);
    }

    public void removeMetric(MetricName name) {
        metrics.removeMetric(name);
    }

    public Sensor addSensor(String name) {
        return metrics.sensor(name);
    }

    public void removeSensor(String name) {
        metrics.removeSensor(name);
    }
}
