package headrace;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
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

    /** validate: name, type (SOURCE, SINK), class, client (PRODUCER, CONSUMER, ADMIN), settings of the connector. */
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
        List found = policy.validate(new ConnectorClientConfigRequest((String) arguments.get(1),
            ConnectorType.valueOf((String) arguments.get(2)), connector, (Map) arguments.get(5),
            ConnectorClientConfigRequest.ClientType.valueOf((String) arguments.get(4))));
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
}
