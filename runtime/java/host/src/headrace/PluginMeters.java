package headrace;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Monitorable;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;

/**
 * The metrics of plugins (KIP-877). Once a second those of every object that has metrics, and whose values have changed,
 * are sent to the slot, if they are finite numbers. Without such objects there is neither a registry nor a thread.
 */
final class PluginMeters implements Runnable {
    private static final long INTERVAL_MILLIS = 1000;
    private static final int MOST = 1000; // metrics of one object
    private static final Map OPEN = Collections.synchronizedMap(new IdentityHashMap());
    private static boolean running;

    private final Metrics metrics = new Metrics(new MetricConfig());
    private final PluginMetricsImpl registry;
    private final Control control;
    private final int link;
    private List sent = Collections.EMPTY_LIST;

    private PluginMeters(int link, Control control, String[] tags) {
        this.link = link;
        this.control = control;
        Map own = new LinkedHashMap();
        for (int i = 0; i < tags.length; i++) {
            own.put(tags[i], "");
        }
        registry = new PluginMetricsImpl(metrics, own);
    }

    /** The metrics of one object, created at the first call. Its worker adds the values of the tags. */
    static final class Owner {
        private final int link;
        private final Control control;
        private final String[] tags;
        private PluginMeters meters;

        Owner(int link, Control control, String tags) {
            this.link = link;
            this.control = control;
            this.tags = tags.split(",");
        }

        synchronized PluginMetrics metrics() {
            if (meters == null) {
                meters = new PluginMeters(link, control, tags);
                open(meters);
            }
            return meters.registry;
        }

        /** Passes the metrics to a plugin that asks for them; called after it was configured. */
        void offer(Object plugin) {
            if (plugin instanceof Monitorable) {
                ((Monitorable) plugin).withPluginMetrics(metrics());
            }
        }

        synchronized void close() {
            if (meters == null) {
                return;
            }
            OPEN.remove(meters);
            try {
                meters.registry.close();
            } catch (java.io.IOException impossible) {
                Log.emit("WARN", getClass().getName(), "The metrics of a plugin could not be closed", impossible);
            }
            meters.metrics.close();
            meters = null;
        }
    }

    private static synchronized void open(PluginMeters meters) {
        OPEN.put(meters, Boolean.TRUE);
        if (!running) {
            running = true;
            Thread thread = new Thread(meters, "plugin-metrics");
            thread.setDaemon(true);
            thread.start();
        }
    }

    public void run() {
        while (true) {
            try {
                Thread.sleep(INTERVAL_MILLIS);
            } catch (InterruptedException ignored) {
                // Nobody interrupts this thread on purpose.
            }
            Object[] all = OPEN.keySet().toArray();
            for (int i = 0; i < all.length; i++) {
                ((PluginMeters) all[i]).send();
            }
        }
    }

    /** [[name, description, tags, value], ...] of all numeric metrics. */
    private void send() {
        List found = new ArrayList();
        for (Iterator all = metrics.metrics().entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            MetricName name = (MetricName) entry.getKey();
            if (name.group().equals("plugins")) {
                Object value = value((KafkaMetric) entry.getValue());
                double number = value instanceof Number ? ((Number) value).doubleValue() : Double.NaN;
                if (!Double.isNaN(number) && !Double.isInfinite(number) && found.size() < MOST) {
                    List one = new ArrayList();
                    one.add(name.name());
                    one.add(name.description());
                    one.add(new LinkedHashMap(name.tags()));
                    one.add(Double.valueOf(number));
                    found.add(one);
                }
            }
        }
        if (!found.equals(sent)) {
            sent = found;
            control.event(link, "metrics", found);
        }
    }

    private static Object value(KafkaMetric metric) {
        try {
            return metric.metricValue();
        } catch (Throwable broken) {
            return null;
        }
    }
}
