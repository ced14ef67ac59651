package headrace;

import org.apache.kafka.common.metrics.PluginMetrics;

/** A connector or a task: started, and stopped at the end. Its contexts use the control link. */
abstract class StartedTarget implements Target {
    final int link;
    final Control control;
    private final PluginMeters.Owner meters;
    private boolean started;

    /** `labels` are those of its metrics, separated by commas. */
    StartedTarget(int link, Control control, String labels) {
        this.link = link;
        this.control = control;
        this.meters = new PluginMeters.Owner(link, control, labels);
    }

    /** The plugin is about to be started. */
    final void starts() {
        started = true;
    }

    final void stop() {
        started = false;
        stopPlugin();
    }

    abstract void stopPlugin();

    public final void abandoned() {
        try {
            if (started) {
                stopPlugin();
            }
        } finally {
            meters.close();
        }
    }

    public final PluginMetrics pluginMetrics() {
        return meters.metrics();
    }
}
