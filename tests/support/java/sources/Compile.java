import java.io.File;
import org.codehaus.janino.Compiler;

/** Arguments: output folder, class path, source files. */
public class Compile {
    public static void main(String[] arguments) throws Exception {
        String[] jars = arguments[1].split(File.pathSeparator);
        File[] classPath = new File[jars.length];
        for (int n = 0; n < jars.length; n++) classPath[n] = new File(jars[n]);
        File[] sources = new File[arguments.length - 2];
        for (int n = 0; n < sources.length; n++) sources[n] = new File(arguments[n + 2]);
        Compiler compiler = new Compiler();
        compiler.setClassPath(classPath);
        compiler.setDestinationDirectory(new File(arguments[0]), false);
        compiler.compile(sources);
    }
}
