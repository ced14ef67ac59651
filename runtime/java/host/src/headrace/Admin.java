package headrace;

import java.util.List;

/** Questions about the process itself. */
final class Admin implements Target {
    private final Control control;

    Admin(Control control) {
        this.control = control;
    }

    public Reply call(String name, List arguments, ColumnReader batch) {
        if (name.equals("stack")) {
            return new Reply(stack(control.thread(((Long) arguments.get(1)).intValue())));
        }
        if (name.equals("memory")) {
            Runtime runtime = Runtime.getRuntime();
            return new Reply(Long.valueOf(runtime.totalMemory() - runtime.freeMemory()));
        }
        if (name.equals("level")) {
            Log.level((String) arguments.get(1), (String) arguments.get(2));
            return Reply.NOTHING;
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    private static String stack(Thread thread) {
        if (thread == null) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        StackTraceElement[] frames = thread.getStackTrace();
        for (int i = 0; i < frames.length; i++) {
            text.append("\tat ").append(frames[i]).append('\n');
        }
        return text.toString();
    }

    public void abandoned() {
    }
}
