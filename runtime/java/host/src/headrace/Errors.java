package headrace;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.connect.errors.RetriableException;

/** Describes exceptions for the slot. */
final class Errors {
    private static final int MOST_FAILURES = 100; // in one call: each has a stack trace

    private Errors() {
    }

    /** Whether a batch continues behind a record that failed: not if the error may be retried or is an Error. */
    static boolean continues(Throwable error, int failures) {
        return error instanceof Exception && !(error instanceof RetriableException) && failures < MOST_FAILURES;
    }

    /** [class, message, stack trace, names of the class and its superclasses]. */
    static List describe(Throwable error) {
        List found = new ArrayList();
        found.add(error.getClass().getName());
        found.add(message(error));
        found.add(trace(error));
        List classes = new ArrayList();
        for (Class one = error.getClass(); one != null; one = one.getSuperclass()) {
            classes.add(one.getName());
        }
        found.add(classes);
        return found;
    }

    private static String message(Throwable error) {
        try {
            return error.getMessage();
        } catch (RuntimeException broken) {
            return "(no message: getMessage() threw " + broken.getClass().getName() + ")";
        }
    }

    static String trace(Throwable error) {
        try {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            return text.toString();
        } catch (RuntimeException broken) {
            return error.getClass().getName();
        }
    }
}
