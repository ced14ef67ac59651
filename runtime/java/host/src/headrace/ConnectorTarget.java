package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkConnectorContext;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceConnectorContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** A connector, and its context. */
final class ConnectorTarget extends StartedTarget {
    private final Connector connector;

    ConnectorTarget(Connector connector, int link, Control control) {
        super(link, control, "connector");
        this.connector = connector;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (Definitions.answers(name)) {
            return Definitions.answer(connector.config(), name, arguments);
        } else if (name.equals("task_class")) {
            return new Reply(connector.taskClass().getName());
        } else if (name.equals("task_configs")) {
            return new Reply(connector.taskConfigs(((Long) arguments.get(1)).intValue()));
        } else if (name.equals("start")) {
            connector.initialize(connector instanceof SinkConnector
                ? (org.apache.kafka.connect.connector.ConnectorContext) new SinkContext(this)
                : (org.apache.kafka.connect.connector.ConnectorContext) new SourceContext(this));
            connector.start((Map) arguments.get(1));
            starts();
            return Reply.NOTHING;
        } else if (name.equals("stop")) {
            stop();
            return Reply.NOTHING;
        }
        Map config = (Map) arguments.get(1);
        if (name.equals("validate")) {
            return new Reply(Definitions.values(connector.validate(config)));
        } else if (name.equals("exactly_once_support")) {
            return new Reply(text(((SourceConnector) connector).exactlyOnceSupport(config)));
        } else if (name.equals("transaction_boundaries")) {
            return new Reply(text(((SourceConnector) connector).canDefineTransactionBoundaries(config)));
        } else if (name.equals("alter_source_offsets")) {
            return new Reply(Boolean.valueOf(((SourceConnector) connector).alterOffsets(config,
                sourceOffsets((List) arguments.get(2)))));
        } else if (name.equals("alter_sink_offsets")) {
            return new Reply(Boolean.valueOf(((SinkConnector) connector).alterOffsets(config,
                sinkOffsets((List) arguments.get(2)))));
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    private static String text(Object value) {
        return value == null ? null : value.toString();
    }

    private static Map sourceOffsets(List pairs) {
        Map found = new HashMap();
        for (Iterator all = pairs.iterator(); all.hasNext();) {
            List pair = (List) all.next();
            found.put(pair.get(0), pair.get(1));
        }
        return found;
    }

    private static Map sinkOffsets(List triples) {
        Map found = new HashMap();
        for (Iterator all = triples.iterator(); all.hasNext();) {
            List one = (List) all.next();
            found.put(new TopicPartition((String) one.get(0), ((Long) one.get(1)).intValue()), one.get(2));
        }
        return found;
    }

    void stopPlugin() {
        connector.stop();
    }

    /** The context of a sink connector. */
    static class SinkContext implements SinkConnectorContext {
        final ConnectorTarget target;

        SinkContext(ConnectorTarget target) {
            this.target = target;
        }

        public void requestTaskReconfiguration() {
            target.control.event(target.link, "reconfigure", null);
        }

        public void raiseError(Exception error) {
            target.control.event(target.link, "raise_error", Errors.describe(error));
        }

        public PluginMetrics pluginMetrics() {
            return target.pluginMetrics();
        }
    }

    /** The context of a source connector. */
    static final class SourceContext extends SinkContext implements SourceConnectorContext {
        SourceContext(ConnectorTarget target) {
            super(target);
        }

        public OffsetStorageReader offsetStorageReader() {
            return new LiveOffsets(target.link, target.control);
        }
    }
}
