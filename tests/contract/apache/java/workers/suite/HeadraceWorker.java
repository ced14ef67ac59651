package suite;

import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A worker of Headrace in a process of its own, with the properties of the test. */
public class HeadraceWorker {
    private static final Path FOLDER = Path.of(System.getProperty("suite.folder"));
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final long REQUEST_MS = 15_000;  // tests lower that of Apache's worker while it runs
    private static final long START_MS = 240_000;
    private static final long STOP_S = 90;
    private final Map<String, String> properties;
    private final Process process;
    private boolean ready;

    /** `mode`: distributed or standalone; `connectors`: files with configurations. */
    public HeadraceWorker(String mode, Map<String, String> given, List<String> connectors) {
        properties = new HashMap<>(given);
        for (String key : List.of("listeners", "admin.listeners"))
            properties.computeIfPresent(key, (k, value) -> value.replaceAll(":0\\b", ":" + Ports.free()));
        properties.merge("plugin.path", System.getProperty("suite.plugins"), (theirs, own) -> theirs + "," + own);
        properties.put("headrace.request.timeout.ms", String.valueOf(REQUEST_MS));
        properties.put("headrace.slots", "1");  // tests start up to ten workers, on any number of processors
        try {
            properties.put("headrace.java.options", "-D" + Bridge.PORT + "=" + Handles.port());
            process = start(mode, connectors);
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
    }

    private Process start(String mode, List<String> connectors) throws IOException {
        String name = "worker-" + NUMBER.incrementAndGet();
        Path file = FOLDER.resolve(name + ".properties");
        Properties stored = new Properties();
        stored.putAll(properties);
        try (OutputStream out = Files.newOutputStream(file)) { stored.store(out, null); }
        List<String> command = new ArrayList<>(List.of(System.getProperty("suite.python"), "-m", "runtime", "worker", mode, file.toString()));
        command.addAll(connectors);
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(FOLDER.resolve(name + ".log").toFile()).start();
    }

    /** The first address of a property, as soon as the worker listens there or has ended. */
    public synchronized URI url(String key) {
        String text = properties.getOrDefault(key, properties.get("listeners")).split(",")[0];
        URI url = URI.create(text.toLowerCase().replaceAll("/*$", "") + "/");
        long end = System.currentTimeMillis() + START_MS;
        while (!ready && process.isAlive() && System.currentTimeMillis() < end) {
            try (Socket socket = new Socket(url.getHost(), url.getPort())) {
                ready = true;
            } catch (IOException notYet) {
                try { Thread.sleep(100); } catch (InterruptedException e) { throw new RuntimeException(e); }
            }
        }
        return url;
    }

    /** Returns when the worker has created the connectors of its files, as the start of Apache's worker does. */
    public void awaitStart() {
        URI health = url("listeners").resolve("health");
        long end = System.currentTimeMillis() + START_MS;
        while (process.isAlive() && System.currentTimeMillis() < end) {
            try {
                if (((HttpURLConnection) health.toURL().openConnection()).getResponseCode() != 503) return;
                Thread.sleep(100);
            } catch (IOException ended) {
                return;
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
        }
    }

    /** Ends with the process, with an error unless its exit code is 0. */
    public Future<?> end() {
        CompletableFuture<Object> end = new CompletableFuture<>();
        process.onExit().thenAccept(p -> {
            if (p.exitValue() == 0) end.complete(null);
            else end.completeExceptionally(new IllegalStateException("exit code " + p.exitValue()));
        });
        return end;
    }

    public void stop() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_S, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            process.destroyForcibly();
        }
    }
}
