package headrace;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The result of a report of a failed record. */
final class Report implements Future {
    private final Control control;
    private final int link;
    private final long id;

    Report(Control control, int link, long id) {
        this.control = control;
        this.link = link;
        this.id = id;
    }

    public boolean cancel(boolean interrupt) {
        return false;
    }

    public boolean isCancelled() {
        return false;
    }

    public boolean isDone() {
        return Boolean.TRUE.equals(control.call(link, "report_done", Long.valueOf(id)));
    }

    public Object get() throws InterruptedException, ExecutionException {
        settle(null);
        return null;
    }

    public Object get(long time, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
        if (!settle(Double.valueOf(unit.toMillis(time) / 1000.0))) {
            throw new TimeoutException();
        }
        return null;
    }

    private boolean settle(Double seconds) throws ExecutionException {
        List question = new ArrayList();
        question.add(Long.valueOf(id));
        question.add(seconds);
        try {
            return Boolean.TRUE.equals(control.call(link, "report_result", question));
        } catch (org.apache.kafka.connect.errors.ConnectException failed) {
            throw new ExecutionException(failed);
        }
    }
}
