package org.apache.kafka.connect.integration;

import java.util.Map;
import java.util.UUID;
import org.apache.kafka.common.config.ConfigDef;
import suite.TestJvm;

public class BlockingConnectorTest {
    /** Blocks as long as the test's Block does. Of these classes only this one is packed. */
    public static class Block {
        private final String where;
        private final String handle = UUID.randomUUID().toString();

        public static ConfigDef config() {
            return new ConfigDef().define("block", ConfigDef.Type.STRING, "", ConfigDef.Importance.MEDIUM, "The method that blocks");
        }

        public Block(Map<String, String> props) { this(props.getOrDefault("block", "")); }

        public Block(String where) {
            this.where = where;
            if (where != null) TestJvm.call(test -> test.newBlock(handle, where));
        }

        public void maybeBlockOn(String method) {
            if (method.equals(where)) TestJvm.call(test -> test.blockOn(handle, method));
        }
    }
}
