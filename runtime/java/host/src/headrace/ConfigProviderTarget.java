package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;

/** A config provider. */
final class ConfigProviderTarget extends ConfiguredTarget {
    private final ConfigProvider provider;

    ConfigProviderTarget(ConfigProvider provider, int link, Control control) {
        super(provider, link, control, null);
        this.provider = provider;
    }

    Reply answer(String name, List arguments, ColumnReader batch) {
        if (name.equals("get")) {
            ConfigData found = provider.get((String) arguments.get(1), new HashSet((List) arguments.get(2)));
            List answer = new ArrayList();
            answer.add(new HashMap(found.data()));
            answer.add(found.ttl());
            return new Reply(answer);
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }
}
