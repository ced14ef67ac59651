import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A resource manager and a node manager of YARN in one process, until it is killed. Writes its configuration to a file. */
public class YarnCluster {
    public static void main(String[] arguments) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        for (int i = 1; i + 1 < arguments.length; i += 2) {
            conf.set(arguments[i], arguments[i + 1]);
        }
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
        cluster.init(conf);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(60_000)) {
            throw new IllegalStateException("the node manager has not registered");
        }
        Path draft = Path.of(arguments[0] + ".draft");
        try (OutputStream file = Files.newOutputStream(draft)) {
            cluster.getConfig().writeXml(file);
        }
        Files.move(draft, Path.of(arguments[0]), StandardCopyOption.ATOMIC_MOVE);
        Thread.currentThread().join();
    }
}
