package headrace;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.connect.components.ConnectPlugin;

/** A plugin that is configured before its other methods are called, and closed at the end. */
abstract class ConfiguredTarget implements Target {
    private final AutoCloseable plugin;
    private final PluginMeters.Owner meters;
    private boolean open;

    /** `labels` are those of its metrics, separated by commas; null if it is not offered metrics. */
    ConfiguredTarget(AutoCloseable plugin, int link, Control control, String labels) {
        this.plugin = plugin;
        this.meters = labels == null ? null : new PluginMeters.Owner(link, control, labels);
    }

    public final Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("configure")) {
            open = true;
            configure(arguments);
            if (meters != null) {
                meters.offer(plugin);
            }
            return Reply.NOTHING;
        } else if (Definitions.answers(name)) {
            return Definitions.answer(((ConnectPlugin) plugin).config(), name, arguments);
        } else if (name.equals("close")) {
            close();
            return Reply.NOTHING;
        }
        return answer(name, arguments, batch);
    }

    /** The settings are the first argument. */
    void configure(List arguments) {
        ((Configurable) plugin).configure((Map) arguments.get(1));
    }

    /** Executes a call that only this kind of plugin has. */
    abstract Reply answer(String name, List arguments, ColumnReader batch) throws Throwable;

    private void close() throws Exception {
        open = false;
        try {
            plugin.close();
        } finally {
            if (meters != null) {
                meters.close();
            }
        }
    }

    public final void abandoned() {
        if (open) {
            try {
                close();
            } catch (Exception ignored) {
                Log.emit("WARN", plugin.getClass().getName(), "The plugin could not be closed", ignored);
            }
        }
    }
}
