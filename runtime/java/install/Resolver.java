import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.maven.model.Repository;
import org.apache.maven.model.io.xpp3.MavenXpp3Reader;
import org.apache.maven.repository.internal.MavenRepositorySystemUtils;
import org.eclipse.aether.AbstractRepositoryListener;
import org.eclipse.aether.DefaultRepositorySystemSession;
import org.eclipse.aether.RepositoryEvent;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.RepositorySystemSession;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.collection.CollectRequest;
import org.eclipse.aether.collection.DependencyCollectionContext;
import org.eclipse.aether.collection.DependencySelector;
import org.eclipse.aether.graph.Dependency;
import org.eclipse.aether.metadata.Metadata;
import org.eclipse.aether.repository.LocalArtifactRegistration;
import org.eclipse.aether.repository.LocalArtifactRequest;
import org.eclipse.aether.repository.LocalArtifactResult;
import org.eclipse.aether.repository.LocalMetadataRegistration;
import org.eclipse.aether.repository.LocalMetadataRequest;
import org.eclipse.aether.repository.LocalMetadataResult;
import org.eclipse.aether.repository.LocalRepository;
import org.eclipse.aether.repository.LocalRepositoryManager;
import org.eclipse.aether.repository.MirrorSelector;
import org.eclipse.aether.repository.RemoteRepository;
import org.eclipse.aether.repository.RepositoryPolicy;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResult;
import org.eclipse.aether.resolution.DependencyRequest;
import org.eclipse.aether.resolution.DependencyResult;
import org.eclipse.aether.resolution.VersionRangeRequest;
import org.eclipse.aether.supplier.RepositorySystemSupplier;
import org.eclipse.aether.transfer.AbstractTransferListener;
import org.eclipse.aether.transfer.TransferCancelledException;
import org.eclipse.aether.transfer.TransferEvent;
import org.eclipse.aether.util.graph.selector.AndDependencySelector;
import org.eclipse.aether.util.repository.JreProxySelector;

/**
 * Resolves one artifact, with its runtime dependencies if it is a jar, and prints lines of fields separated by tabs:
 * "file" with coordinate and path for each result, "got" with name and bytes for each download, "part" with the bytes
 * of all downloads once a second, "unreadable" with coordinate and reason for each POM that Maven ignores, "error" with
 * a message, and after an error "version" with each version of the artifact, oldest first.
 *
 * Arguments: local repository, "online" or "offline", repository URL or "" for Maven's own default, the coordinate as
 * group:artifact:extension:classifier:version, and group:artifact patterns of what the worker provides. Instead of a
 * version, "?" asks for the versions alone.
 */
public class Resolver {
    public static void main(String[] arguments) throws Exception {
        List provided = Arrays.asList(arguments).subList(4, arguments.length);
        RepositorySystem system = new RepositorySystemSupplier().get();
        DefaultRepositorySystemSession session = MavenRepositorySystemUtils.newSession();
        session.setSystemProperties(System.getProperties()); // profiles of POMs depend on Java's version
        session.setLocalRepositoryManager(new CheckedFolder(
            system.newLocalRepositoryManager(session, new LocalRepository(new File(arguments[0])))));
        session.setConfigProperties(System.getProperties()); // timeouts
        session.setOffline(arguments[1].equals("offline"));
        session.setChecksumPolicy(RepositoryPolicy.CHECKSUM_POLICY_FAIL);
        session.setProxySelector(new JreProxySelector());
        session.setTransferListener(new Progress(Long.getLong("headrace.largest").longValue()));
        session.setRepositoryListener(new Unreadable());
        session.setDependencySelector(
            new AndDependencySelector(new DependencySelector[] {session.getDependencySelector(), new Needed(provided, false)}));
        List repositories = new ArrayList();
        RemoteRepository standard = standard();
        RemoteRepository chosen = arguments[2].isEmpty() ? standard : named(arguments[2]);
        repositories.add(chosen);
        session.setMirrorSelector(new Declared(standard, chosen));
        String[] part = arguments[3].split(":", -1);
        Artifact artifact = new DefaultArtifact(part[0], part[1], part[3], part[2], part[4]);
        try {
            if (part[4].equals("?")) {
                session.setUpdatePolicy(RepositoryPolicy.UPDATE_POLICY_ALWAYS);
                versions(system, session, repositories, artifact);
            } else if (part[2].equals("jar")) withDependencies(system, session, repositories, artifact);
            else alone(system, session, repositories, artifact);
        } catch (Exception failure) {
            line("error", reason(failure), "");
            if (!part[4].equals("?")) versions(system, session, repositories, artifact);
            System.exit(1);
        }
    }

    private static void versions(RepositorySystem system, DefaultRepositorySystemSession session, List repositories,
            Artifact artifact) throws Exception {
        VersionRangeRequest any = new VersionRangeRequest(artifact.setVersion("[0,)"), repositories, null);
        List known = system.resolveVersionRange(session, any).getVersions();
        for (int n = 0; n < known.size(); n++) line("version", known.get(n).toString(), "");
    }

    private static void alone(RepositorySystem system, DefaultRepositorySystemSession session, List repositories,
            Artifact artifact) throws Exception {
        ArtifactResult result = system.resolveArtifact(session, new ArtifactRequest(artifact, repositories, null));
        line("file", result.getArtifact().toString(), result.getArtifact().getFile().getPath());
    }

    private static void withDependencies(RepositorySystem system, DefaultRepositorySystemSession session,
            List repositories, Artifact artifact) throws Exception {
        CollectRequest collect = new CollectRequest(new Dependency(artifact, "runtime"), repositories);
        DependencyResult result = system.resolveDependencies(session, new DependencyRequest(collect, null));
        List found = result.getArtifactResults();
        for (int n = 0; n < found.size(); n++) {
            Artifact one = ((ArtifactResult) found.get(n)).getArtifact();
            line("file", one.toString(), one.getFile().getPath());
        }
    }

    private static RemoteRepository standard() throws Exception {
        InputStream pom = MavenRepositorySystemUtils.class.getClassLoader()
            .getResourceAsStream("org/apache/maven/model/pom-4.0.0.xml");
        Repository standard = (Repository) new MavenXpp3Reader().read(pom).getRepositories().get(0);
        return new RemoteRepository.Builder(standard.getId(), "default", standard.getUrl()).build();
    }

    /** Its id is made from the URL: Maven takes files that it has downloaded before from any repository of an id. */
    private static RemoteRepository named(String url) {
        return new RemoteRepository.Builder(id(url), "default", url).build();
    }

    private static String id(String url) {
        return UUID.nameUUIDFromBytes(url.getBytes(StandardCharsets.UTF_8)).toString();
    }

    private static String reason(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause())
            if (cause.getMessage() != null) return clean(cause.getMessage());
        return failure.getClass().getName();
    }

    static synchronized void line(String kind, String first, String second) {
        System.out.println(kind + "\t" + clean(first) + "\t" + clean(second));
    }

    private static String clean(String text) {
        return text.replace('\n', ' ').replace('\t', ' ');
    }

    /** Reports each finished download. Ends downloads that are larger, together, than a plugin is. */
    public static class Progress extends AbstractTransferListener {
        private final long largest;
        private final Map parts = new HashMap();
        private long finished;
        private long printed = System.nanoTime();

        public Progress(long largest) {
            this.largest = largest;
        }

        public synchronized void transferProgressed(TransferEvent event) throws TransferCancelledException {
            if (finished + event.getTransferredBytes() > largest)
                throw new TransferCancelledException("the files are larger than " + largest + " bytes");
            parts.put(event.getResource().getResourceName(), Long.valueOf(event.getTransferredBytes()));
            if (System.nanoTime() - printed > 1000000000L) {
                printed = System.nanoTime();
                long all = finished;
                for (Iterator each = parts.values().iterator(); each.hasNext();) all += ((Long) each.next()).longValue();
                line("part", String.valueOf(all), "");
            }
        }

        public synchronized void transferSucceeded(TransferEvent event) {
            finished += event.getTransferredBytes();
            String name = event.getResource().getResourceName();
            parts.remove(name);
            line("got", name.substring(name.lastIndexOf('/') + 1), String.valueOf(event.getTransferredBytes()));
        }
    }

    /** Repositories that POMs declare are asked over https only, and never under the id of another one. */
    public static class Declared implements MirrorSelector {
        private final RemoteRepository standard;
        private final RemoteRepository chosen;

        public Declared(RemoteRepository standard, RemoteRepository chosen) {
            this.standard = standard;
            this.chosen = chosen;
        }

        public RemoteRepository getMirror(RemoteRepository declared) {
            String url = declared.getUrl();
            if (url.equals(standard.getUrl()) && declared.getId().equals(standard.getId())) return null;
            boolean safe = "https".equalsIgnoreCase(declared.getProtocol()) || url.equals(chosen.getUrl());
            RemoteRepository.Builder named = new RemoteRepository.Builder(declared);
            return named.setId(id(url)).setBlocked(!safe)
                .setMirroredRepositories(Collections.singletonList(declared)).build();
        }
    }

    /** The folder of downloaded files, for coordinates that cannot name a file outside. */
    public static class CheckedFolder implements LocalRepositoryManager {
        private static final Pattern PART = Pattern.compile("(?!\\.+$)[A-Za-z0-9_.+-]+");
        private final LocalRepositoryManager manager;

        public CheckedFolder(LocalRepositoryManager manager) {
            this.manager = manager;
        }

        private static Artifact checked(Artifact artifact) {
            check(artifact, new String[] {artifact.getGroupId(), artifact.getArtifactId(), artifact.getVersion(),
                artifact.getBaseVersion(), artifact.getExtension(), artifact.getClassifier()});
            return artifact;
        }

        private static Metadata checked(Metadata metadata) {
            check(metadata, new String[] {metadata.getGroupId(), metadata.getArtifactId(), metadata.getVersion(),
                metadata.getType()});
            return metadata;
        }

        private static void check(Object named, String[] parts) {
            for (int n = 0; n < parts.length; n++)
                if (!parts[n].isEmpty() && !PART.matcher(parts[n]).matches())
                    throw new IllegalArgumentException("the coordinate " + named + " is refused: " + parts[n]
                        + " could name a file outside the repository's folder");
        }

        public LocalRepository getRepository() {
            return manager.getRepository();
        }

        public String getPathForLocalArtifact(Artifact artifact) {
            return manager.getPathForLocalArtifact(checked(artifact));
        }

        public String getPathForRemoteArtifact(Artifact artifact, RemoteRepository repository, String context) {
            return manager.getPathForRemoteArtifact(checked(artifact), repository, context);
        }

        public String getPathForLocalMetadata(Metadata metadata) {
            return manager.getPathForLocalMetadata(checked(metadata));
        }

        public String getPathForRemoteMetadata(Metadata metadata, RemoteRepository repository, String context) {
            return manager.getPathForRemoteMetadata(checked(metadata), repository, context);
        }

        public LocalArtifactResult find(RepositorySystemSession session, LocalArtifactRequest request) {
            checked(request.getArtifact());
            LocalArtifactResult found = manager.find(session, request);
            if (!found.isAvailable()) found.setFile(null); // of another repository, which Maven would take from here
            return found;
        }

        public void add(RepositorySystemSession session, LocalArtifactRegistration request) {
            checked(request.getArtifact());
            manager.add(session, request);
        }

        public LocalMetadataResult find(RepositorySystemSession session, LocalMetadataRequest request) {
            checked(request.getMetadata());
            return manager.find(session, request);
        }

        public void add(RepositorySystemSession session, LocalMetadataRegistration request) {
            checked(request.getMetadata());
            manager.add(session, request);
        }
    }

    /** Reports POMs that are missing or cannot be read: Maven ignores their dependencies. */
    public static class Unreadable extends AbstractRepositoryListener {
        public void artifactDescriptorInvalid(RepositoryEvent event) {
            line("unreadable", event.getArtifact().toString(), reason(event.getException()));
        }

        public void artifactDescriptorMissing(RepositoryEvent event) {
            line("unreadable", event.getArtifact().toString(), "it is missing");
        }
    }

    /**
     * Leaves out what the worker provides, and what only those artifacts need; of the requested artifact, to which Maven
     * would apply the rules of a project to build, also optional, provided and test dependencies.
     */
    public static class Needed implements DependencySelector {
        private final List provided;
        private final boolean isChild;

        public Needed(List provided, boolean isChild) {
            this.provided = provided;
            this.isChild = isChild;
        }

        public boolean selectDependency(Dependency dependency) {
            if (!isChild) return true;
            Artifact artifact = dependency.getArtifact();
            String scope = dependency.getScope();
            return !dependency.isOptional() && !scope.equals("provided") && !scope.equals("test")
                && !provided.contains(artifact.getGroupId() + ":" + artifact.getArtifactId());
        }

        public DependencySelector deriveChildSelector(DependencyCollectionContext context) {
            return isChild ? this : new Needed(provided, true);
        }
    }
}
