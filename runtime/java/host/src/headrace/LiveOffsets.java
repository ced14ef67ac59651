package headrace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/** The committed source offsets, read through the worker with each call. */
final class LiveOffsets implements OffsetStorageReader {
    private final int link;
    private final Control control;

    LiveOffsets(int link, Control control) {
        this.link = link;
        this.control = control;
    }

    public Map offset(Map partition) {
        return (Map) read(Collections.singletonList(partition)).get(0);
    }

    public Map offsets(Collection partitions) {
        List wanted = new ArrayList(partitions);
        List found = read(wanted);
        Map offsets = new HashMap();
        for (int i = 0; i < wanted.size(); i++) {
            offsets.put(wanted.get(i), found.get(i));
        }
        return offsets;
    }

    private List read(List partitions) {
        return partitions.isEmpty() ? partitions : (List) control.call(link, "offsets", partitions);
    }
}
