package org.apache.kafka.connect.util.clusters;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import suite.HeadraceWorker;

/** The worker that a test controls: a process instead of an object of Apache's. */
public class WorkerHandle {
    private final String name;
    private final HeadraceWorker worker;

    WorkerHandle(String name, HeadraceWorker worker) {
        this.name = name;
        this.worker = worker;
    }

    public static WorkerHandle start(String name, Map<String, String> properties) {
        return new WorkerHandle(name, new HeadraceWorker("distributed", properties, List.of()));
    }

    public void stop() { worker.stop(); }
    public URI url() { return worker.url("listeners"); }
    public URI adminUrl() { return worker.url("admin.listeners"); }
    public Future<?> herderTask() { return worker.end(); }

    /** A property of the worker's process, which has a low value in all tests. */
    public void requestTimeout(long ms) { }
    public void resetRequestTimeout() { }

    @Override
    public String toString() { return "WorkerHandle{" + name + "}"; }
}
