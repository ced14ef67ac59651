package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Log events: sent to the slot over the control link, with the context of the task that caused them. */
public final class Log {
    static final String[] LEVELS = new String[] {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"};
    private static final InheritableThreadLocal CONTEXT = new InheritableThreadLocal();
    private static final int MOST_CHARACTERS = 128 * 1024; // the worker shows half of them

    static volatile Map levels = new HashMap();
    static volatile int root = 2;

    private Log() {
    }

    /** Sets the context of this thread, and of threads that it will start. */
    static void context(String context) {
        CONTEXT.set(context);
    }

    /** Sets the level of a logger and of those below it. */
    static synchronized void level(String logger, String level) {
        if (logger.equals("root")) {
            root = rank(level);
        } else {
            Map changed = new HashMap(levels);
            changed.put(logger, Integer.valueOf(rank(level)));
            levels = changed;
        }
        JulLog.level(logger, rank(level));
    }

    private static int rank(String level) {
        for (int i = 0; i < LEVELS.length; i++) {
            if (LEVELS[i].equals(level)) {
                return i;
            }
        }
        return level.equals("FATAL") ? 4 : 2;
    }

    /** Whether events of a level (0 for TRACE to 4 for ERROR) are sent. */
    public static boolean enabled(String logger, int level) {
        Map configured = levels;
        if (!configured.isEmpty()) {
            for (String name = logger;;) {
                Integer found = (Integer) configured.get(name);
                if (found != null) {
                    return level >= found.intValue();
                }
                int dot = name.lastIndexOf('.');
                if (dot < 0) {
                    break;
                }
                name = name.substring(0, dot);
            }
        }
        return level >= root;
    }

    public static void emit(int level, String logger, String message, Throwable error) {
        emit(LEVELS[level], logger, message, error);
    }

    static void emit(String level, String logger, String message, Throwable error) {
        Control control = Control.instance;
        if (control == null) {
            System.err.println(level + " " + logger + " " + message);
            return;
        }
        List event = new ArrayList();
        event.add(level);
        event.add(logger);
        event.add(shortened(error == null ? message : message + "\n" + Errors.trace(error)));
        event.add(CONTEXT.get());
        control.event(0, "log", event);
    }

    private static String shortened(String message) {
        return message == null || message.length() <= MOST_CHARACTERS ? message : message.substring(0, MOST_CHARACTERS);
    }

    /** The heap is exhausted: other tasks of this process are affected, too, so it ends. */
    static void fatal(OutOfMemoryError error) {
        System.err.println("java.lang.OutOfMemoryError: " + error.getMessage());
        Runtime.getRuntime().halt(3);
    }
}
