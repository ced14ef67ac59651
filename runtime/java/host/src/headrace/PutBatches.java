package headrace;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The batches of a sink task, by number, until nothing refers to their records any more. */
final class PutBatches {
    private final ReferenceQueue queue = new ReferenceQueue();
    private final Set references = new HashSet(); // a reference that is not reachable itself is not enqueued

    /** What the records of a batch, and records derived from them, refer to. */
    static final class Batch {
        final long number;

        Batch(long number) {
            this.number = number;
        }
    }

    private static final class Numbered extends WeakReference {
        final Long number;

        Numbered(Batch batch, ReferenceQueue queue) {
            super(batch, queue);
            this.number = Long.valueOf(batch.number);
        }
    }

    Batch add(long number) {
        Batch batch = new Batch(number);
        references.add(new Numbered(batch, queue));
        return batch;
    }

    /** The numbers of the batches that have been collected since the last call. */
    List collected() {
        List numbers = new ArrayList();
        for (Reference found = queue.poll(); found != null; found = queue.poll()) {
            references.remove(found);
            numbers.add(((Numbered) found).number);
        }
        return numbers;
    }
}
