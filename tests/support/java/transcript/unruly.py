"""A sink that exits, hangs in stop(), exhausts the heap, leaves threads behind and loads native libraries; a source of
large records."""

from __future__ import annotations

SINK, SOURCE = "transcript.UnrulySink", "transcript.UnrulySource"

SOURCES = {
    "Deadlock": """
/** A monitor that a thread keeps. */
public class Deadlock {
    private static final Object KEPT = new Object();

    static void enter() {
        final Object[] entered = new Object[1];
        Thread keeper = new Thread() {
            public void run() {
                synchronized (KEPT) {
                    synchronized (entered) {
                        entered[0] = KEPT;
                        entered.notifyAll();
                    }
                    while (true) {
                        try { Thread.sleep(600000); } catch (InterruptedException ignored) { }
                    }
                }
            }
        };
        keeper.setDaemon(true);
        keeper.start();
        synchronized (entered) {
            while (entered[0] == null) {
                try { entered.wait(); } catch (InterruptedException ignored) { }
            }
        }
        synchronized (KEPT) { entered[0] = null; }
    }
}
""",
    "Native": """
/** Loads a library of the JDK, as a library of its own. */
public class Native {
    static void load(Transcript out, String copy) throws Exception {
        FileInputStream in = new FileInputStream(System.getProperty("java.home") + "/lib/libprefs.so");
        FileOutputStream file = new FileOutputStream(copy);
        byte[] buffer = new byte[65536];
        for (int count = in.read(buffer); count > 0; count = in.read(buffer)) {
            file.write(buffer, 0, count);
        }
        in.close();
        file.close();
        System.load(copy);
        out.tell("loaded");
        System.load(copy);
        out.tell("loaded again");
        try {
            System.loadLibrary("of.nobody");
        } catch (UnsatisfiedLinkError e) { out.tell("not loaded: " + e.getMessage()); }
        java.net.URLClassLoader own = (java.net.URLClassLoader) Native.class.getClassLoader();
        java.net.URLClassLoader other = new java.net.URLClassLoader(own.getURLs(), ClassLoader.getSystemClassLoader());
        try {
            other.loadClass("transcript.Native").getMethod("again", new Class[] {String.class})
                .invoke(null, new Object[] {copy});
            out.tell("loaded by another loader");
        } catch (java.lang.reflect.InvocationTargetException e) {
            out.tell("not loaded: " + e.getCause().getMessage().replace(copy, "LIBRARY"));
        }
    }
    public static void again(String copy) { System.load(copy); }
}
""",
    "Left": """
/** A thread that its task does not end: touches a file, and tells once that its task has stopped. */
public class Left extends Thread {
    static volatile boolean stopped;
    private final Transcript out;
    private final File file;

    Left(Transcript out, File file) {
        super("left");
        this.out = out;
        this.file = file;
    }
    public void run() {
        out.context("thread " + isDaemon());
        for (boolean told = false;;) {
            try { Thread.sleep(20); } catch (InterruptedException ignored) { }
            if (stopped && !told) {
                told = true;
                out.context("left behind "
                    + (Thread.currentThread().getContextClassLoader() == getClass().getClassLoader()));
            }
            try { new FileOutputStream(file).close(); } catch (IOException e) { throw new RuntimeException(e); }
            file.setLastModified(System.currentTimeMillis());
        }
    }
}
""",
    "UnrulySink": """
/** The option `hang` makes its stop() hang. */
public class UnrulySink extends SinkConnector {
    private final Transcript out = new Transcript("connector");
    private Map config;

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.tell("start");
    }
    public void stop() {
        out.tell("stop");
        if ("connector".equals(config.get("hang"))) { Deadlock.enter(); }
    }
    public Class taskClass() { return UnrulySinkTask.class; }
    public List taskConfigs(int most) { return Collections.singletonList(config); }
}
""",
    "UnrulySinkTask": """
/** Records are orders. What ends the process is done once. */
public class UnrulySinkTask extends SinkTask {
    private final Transcript out = new Transcript("task");
    private Map config;

    public String version() { return "1.5"; }
    public void start(Map given) {
        config = given;
        out.open(given);
        out.tell("start");
    }
    public void put(Collection records) {
        for (Iterator all = records.iterator(); all.hasNext();) {
            String order = (String) ((SinkRecord) all.next()).value();
            out.tell(order.length() > 1000 ? "large " + order.length() + " " + order.hashCode() : "put " + order);
            try {
                obey(order);
            } catch (RuntimeException e) { throw e; } catch (Exception e) { throw new RuntimeException(e); }
        }
    }
    private boolean once() throws IOException { return new File(config.get("transcript") + ".done").createNewFile(); }
    private void obey(String order) throws Exception {
        if (order.equals("exit") && once()) {
            System.exit(3);
        } else if (order.equals("memory") && once()) {
            List kept = new ArrayList();
            while (true) { kept.add(new byte[1 << 24]); }
        } else if (order.equals("array") && once()) {
            out.tell("length " + new long[Integer.MAX_VALUE].length);
        } else if (order.equals("overflow")) {
            obey(new String(order));
        } else if (order.equals("linkage")) {
            throw new NoClassDefFoundError("of/Nobody");
        } else if (order.equals("native")) {
            Native.load(out, config.get("transcript") + ".so");
        } else if (order.equals("thread")) {
            Left.stopped = false;
            new Left(out, new File(config.get("transcript") + ".alive")).start();
        }
    }
    public void stop() {
        out.tell("stop");
        Left.stopped = true;
        if ("task".equals(config.get("hang"))) { Deadlock.enter(); }
    }
}
""",
    "UnrulySource": """
/** Sends one record of the option `size`. */
public class UnrulySource extends SourceConnector {
    private Map config;

    public String version() { return "1.5"; }
    public ConfigDef config() { return Transcript.definition(); }
    public void start(Map given) { config = given; }
    public void stop() { }
    public Class taskClass() { return UnrulySourceTask.class; }
    public List taskConfigs(int most) { return Collections.singletonList(config); }
}
""",
    "UnrulySourceTask": """
public class UnrulySourceTask extends SourceTask {
    private final Transcript out = new Transcript("task");
    private final Transcript commits = new Transcript("commits");
    private Map config;
    private boolean sent;

    public String version() { return "1.5"; }
    public void start(Map given) {
        config = given;
        out.open(given);
        commits.open(given);
        out.tell("start");
    }
    public List poll() throws InterruptedException {
        if (sent) {
            Thread.sleep(50);
            return null;
        }
        sent = true;
        char[] text = new char[Integer.parseInt((String) config.get("size"))];
        for (int i = 0; i < text.length; i++) { text[i] = (char) ('a' + i % 26); }
        out.tell("poll");
        return Collections.singletonList(new SourceRecord(Collections.singletonMap("p", "a"),
            Collections.singletonMap("at", Long.valueOf(1)), (String) config.get("topic"), null, null, null,
            Schema.STRING_SCHEMA, new String(text)));
    }
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        commits.tell("commitRecord " + metadata.serializedValueSize());
    }
    public void stop() { out.tell("stop"); }
}
""",
}
