package headrace;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Sends java.util.logging to the log of the slot, with the levels of its loggers. Loaded by Java at its first use. */
public final class JulLog {
    private static final String[] CONFIGURED = new String[] {
        "java.util.logging.config.class", "java.util.logging.config.file"};
    private static final Level[] LEVELS = new Level[] {
        Level.ALL, Level.FINER, Level.INFO, Level.WARNING, Level.SEVERE, Level.OFF};
    private static final Map KEPT = new HashMap(); // Java forgets loggers, with their levels, that nobody refers to
    private static boolean used;

    /** Makes Java create an instance when a plugin first uses its log, unless the JVM's options configure it. */
    static void prepare() {
        if (System.getProperty(CONFIGURED[0]) == null && System.getProperty(CONFIGURED[1]) == null) {
            System.setProperty(CONFIGURED[0], JulLog.class.getName());
        }
    }

    public JulLog() throws IOException {
        Properties settings = new Properties();
        synchronized (KEPT) {
            used = true;
            settings.setProperty("handlers", Events.class.getName());
            settings.setProperty(".level", LEVELS[Log.root].getName());
            for (Iterator all = Log.levels.entrySet().iterator(); all.hasNext();) {
                Map.Entry entry = (Map.Entry) all.next();
                settings.setProperty(entry.getKey() + ".level", LEVELS[((Integer) entry.getValue()).intValue()].getName());
            }
        }
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        settings.store(text, null);
        LogManager.getLogManager().readConfiguration(new ByteArrayInputStream(text.toByteArray()));
    }

    /** The level of a logger has changed, as a rank. */
    static void level(String logger, int rank) {
        synchronized (KEPT) {
            if (!used) {
                return;
            }
        }
        Logger found = Logger.getLogger(logger.equals("root") ? "" : logger);
        found.setLevel(LEVELS[rank]);
        synchronized (KEPT) {
            KEPT.put(logger, found);
        }
    }

    private static int rank(int level) {
        return level <= Level.FINEST.intValue() ? 0 : level <= Level.FINE.intValue() ? 1
            : level <= Level.INFO.intValue() ? 2 : level <= Level.WARNING.intValue() ? 3 : 4;
    }

    /** Receives the events of all loggers. */
    public static final class Events extends Handler {
        private final Formatter texts = new SimpleFormatter();

        public void publish(LogRecord event) {
            String logger = event.getLoggerName() == null ? "" : event.getLoggerName();
            int level = rank(event.getLevel().intValue());
            if (Log.enabled(logger, level)) {
                Log.emit(level, logger, texts.formatMessage(event), event.getThrown());
            }
        }

        public void flush() {
        }

        public void close() {
        }
    }
}
