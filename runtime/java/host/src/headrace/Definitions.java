package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.config.types.Password;

/** Definitions of configurations, and validated values. Secrets are hidden. */
final class Definitions {
    private Definitions() {
    }

    /**
     * Answers questions about a definition: all keys, the check of one value, and the recommendations for one key.
     * Values are texts.
     */
    static Reply answer(ConfigDef definition, String name, List arguments) {
        if (name.equals("definition")) {
            return new Reply(of(definition));
        }
        String key = (String) arguments.get(1);
        ConfigDef.ConfigKey defined = (ConfigDef.ConfigKey) definition.configKeys().get(key);
        if (name.equals("check")) {
            defined.validator.ensureValid(key, ConfigDef.parseType(key, arguments.get(2), defined.type));
            return Reply.NOTHING;
        }
        Map parsed = parsed(definition, (Map) arguments.get(2));
        List recommended = new ArrayList();
        List found = defined.recommender.validValues(key, parsed);
        for (Iterator all = found.iterator(); all.hasNext();) {
            recommended.add(text(all.next(), null));
        }
        List answer = new ArrayList();
        answer.add(recommended);
        answer.add(Boolean.valueOf(defined.recommender.visible(key, parsed)));
        return new Reply(answer);
    }

    /** Whether answer() has the answer to this call. */
    static boolean answers(String name) {
        return name.equals("definition") || name.equals("check") || name.equals("recommend");
    }

    private static Map parsed(ConfigDef definition, Map texts) {
        Map parsed = new HashMap();
        for (Iterator all = texts.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            ConfigDef.ConfigKey key = (ConfigDef.ConfigKey) definition.configKeys().get(entry.getKey());
            parsed.put(entry.getKey(), key == null ? entry.getValue()
                : ConfigDef.parseType(key.name, entry.getValue(), key.type));
        }
        return parsed;
    }

    /** A list for each key: name, type, default (or not required), importance, documentation, group and so on. */
    static List of(ConfigDef definition) {
        List found = new ArrayList();
        if (definition == null) {
            return found;
        }
        for (Iterator keys = definition.configKeys().values().iterator(); keys.hasNext();) {
            ConfigDef.ConfigKey key = (ConfigDef.ConfigKey) keys.next();
            List one = new ArrayList();
            one.add(key.name);
            one.add(key.type.name());
            one.add(Boolean.valueOf(!key.hasDefault()));
            one.add(key.hasDefault() ? text(key.defaultValue, key.type) : null);
            one.add(key.importance.name());
            one.add(key.documentation);
            one.add(key.group);
            one.add(Long.valueOf(key.orderInGroup));
            one.add(key.width.name());
            one.add(key.displayName);
            one.add(key.dependents);
            one.add(Boolean.valueOf(key.validator != null));
            one.add(Boolean.valueOf(key.recommender != null));
            found.add(one);
        }
        return found;
    }

    /** A list for each value: name, value as text, recommended values as text, errors, visible. */
    static List values(Config config) {
        List found = new ArrayList();
        for (Iterator values = config.configValues().iterator(); values.hasNext();) {
            ConfigValue value = (ConfigValue) values.next();
            List one = new ArrayList();
            one.add(value.name());
            one.add(text(value.value(), null));
            List recommended = new ArrayList();
            for (Iterator all = value.recommendedValues().iterator(); all.hasNext();) {
                recommended.add(text(all.next(), null));
            }
            one.add(recommended);
            one.add(value.errorMessages());
            one.add(Boolean.valueOf(value.visible()));
            found.add(one);
        }
        return found;
    }

    private static Object text(Object value, ConfigDef.Type type) {
        if (value == null) {
            return null;
        }
        if (value instanceof Password) {
            return value.toString();
        }
        if (value instanceof List) {
            List items = new ArrayList();
            for (Iterator all = ((List) value).iterator(); all.hasNext();) {
                Object item = all.next();
                items.add(item instanceof Class ? ((Class) item).getName() : String.valueOf(item));
            }
            return items;
        }
        if (value instanceof Class) {
            return ((Class) value).getName();
        }
        return type == null ? value.toString() : ConfigDef.convertToString(value, type);
    }
}
