package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigRequest;
import org.apache.kafka.connect.health.ConnectorType;

/** A policy for the client settings of connectors. */
final class OverridePolicyTarget extends ConfiguredTarget {
    private final ConnectorClientConfigOverridePolicy policy;

    OverridePolicyTarget(ConnectorClientConfigOverridePolicy policy, int link, Control control) {
        super(policy, link, control, "config,class");
        this.policy = policy;
    }

    /** validate: name, type (SOURCE, SINK), class, client (PRODUCER, CONSUMER, ADMIN), settings, and whether to parse. */
    Reply answer(String name, List arguments, ColumnReader batch) throws Throwable {
        if (!name.equals("validate")) {
            throw new IllegalArgumentException("Unknown call " + name);
        }
        Class connector;
        try {
            connector = Class.forName((String) arguments.get(3), false, Loaders.of(null, null));
        } catch (ClassNotFoundException python) {
            connector = null;
        }
        ConnectorClientConfigRequest.ClientType client =
            ConnectorClientConfigRequest.ClientType.valueOf((String) arguments.get(4));
        Map settings = (Map) arguments.get(5);
        if (Boolean.TRUE.equals(arguments.get(6))) {
            settings = parsed(settings, definition(client).configKeys());
        }
        List found = policy.validate(new ConnectorClientConfigRequest((String) arguments.get(1),
            ConnectorType.valueOf((String) arguments.get(2)), connector, settings, client));
        List answer = new ArrayList();
        for (Iterator values = found.iterator(); values.hasNext();) {
            ConfigValue value = (ConfigValue) values.next();
            List one = new ArrayList();
            one.add(value.name());
            one.add(value.errorMessages());
            answer.add(one);
        }
        return new Reply(answer);
    }

    private static ConfigDef definition(ConnectorClientConfigRequest.ClientType client) {
        return client == ConnectorClientConfigRequest.ClientType.PRODUCER ? ProducerConfig.configDef()
            : client == ConnectorClientConfigRequest.ClientType.CONSUMER ? ConsumerConfig.configDef()
            : AdminClientConfig.configDef();
    }

    /** The settings with values of their types; a value that has not its type remains a text. */
    private static Map parsed(Map settings, Map keys) {
        Map parsed = new HashMap();
        for (Iterator all = settings.entrySet().iterator(); all.hasNext();) {
            Map.Entry setting = (Map.Entry) all.next();
            String name = (String) setting.getKey();
            Object value = setting.getValue();
            ConfigDef.ConfigKey key = (ConfigDef.ConfigKey) keys.get(name);
            if (key != null) {
                try {
                    value = ConfigDef.parseType(name, value, key.type);
                } catch (ConfigException invalid) {
                    // The validation reports it.
                }
            }
            parsed.put(name, value);
        }
        return parsed;
    }
}
