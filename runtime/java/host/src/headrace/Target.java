package headrace;

import java.util.List;

/** A plugin object behind a link. */
interface Target {
    /**
     * Executes a call. Batches in the arguments are read from the link, and batches in the result are written to it
     * after the value that is returned: see Reply.
     */
    Reply call(String name, List arguments, ColumnReader batch) throws Throwable;

    /** The link has ended: release what a well-behaved slot would have released. */
    void abandoned();
}
