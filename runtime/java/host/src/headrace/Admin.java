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
        if (name.equals("status")) {
            Runtime runtime = Runtime.getRuntime();
            List facts = new java.util.ArrayList();
            facts.add(Long.valueOf(runtime.totalMemory() - runtime.freeMemory()));
            facts.add(control.running());
            return new Reply(facts);
        }
        if (name.equals("exit")) {
            System.exit(0);
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
