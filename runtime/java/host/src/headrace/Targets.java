package headrace;

import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Chooses how a plugin object is called. */
final class Targets {
    private Targets() {
    }

    static Target of(String kind, Object plugin, int link, Control control) {
        if (kind.equals("source_task")) {
            return new SourceTaskTarget((SourceTask) plugin, link, control);
        } else if (kind.equals("sink_task")) {
            return new SinkTaskTarget((SinkTask) plugin, link, control);
        } else if (kind.equals("connector")) {
            return new ConnectorTarget((Connector) plugin, link, control);
        } else if (kind.equals("transformation")) {
            return new StepTarget((Transformation) plugin, link, control);
        } else if (kind.equals("predicate")) {
            return new StepTarget((Predicate) plugin, link, control);
        } else if (kind.equals("converter")) {
            return new ConverterTarget((Converter) plugin, link, control);
        } else if (kind.equals("header_converter")) {
            return new ConverterTarget((HeaderConverter) plugin, link, control);
        } else if (kind.equals("config_provider")) {
            return new ConfigProviderTarget((ConfigProvider) plugin, link, control);
        } else if (kind.equals("override_policy")) {
            return new OverridePolicyTarget((ConnectorClientConfigOverridePolicy) plugin, link, control);
        }
        throw new IllegalArgumentException("Unknown kind " + kind);
    }

    /** The version of a plugin; null if it has none, or does not report it. */
    static String version(Object plugin) {
        try {
            if (plugin instanceof org.apache.kafka.connect.connector.Task) {
                return ((org.apache.kafka.connect.connector.Task) plugin).version();
            }
            return plugin instanceof org.apache.kafka.connect.components.Versioned
                ? ((org.apache.kafka.connect.components.Versioned) plugin).version() : null;
        } catch (Throwable broken) {
            return null;
        }
    }
}
