package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.provider.ConfigProvider;

/** A config provider. */
final class ConfigProviderTarget implements Target {
    private final ConfigProvider provider;

    ConfigProviderTarget(ConfigProvider provider) {
        this.provider = provider;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("configure")) {
            provider.configure((Map) arguments.get(1));
            return Reply.NOTHING;
        } else if (name.equals("get")) {
            ConfigData found = provider.get((String) arguments.get(1), new HashSet((List) arguments.get(2)));
            List answer = new ArrayList();
            answer.add(new HashMap(found.data()));
            answer.add(found.ttl());
            return new Reply(answer);
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    public void abandoned() {
        try {
            provider.close();
        } catch (java.io.IOException ignored) {
            Log.emit("WARN", getClass().getName(), "A config provider could not be closed", ignored);
        }
    }
}
