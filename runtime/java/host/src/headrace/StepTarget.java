package headrace;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** A transformation or a predicate. A transformation also executes the steps that follow it in its chain. */
final class StepTarget extends ConfiguredTarget {
    private final Transformation transformation;
    private final Predicate predicate;
    private final Control control;

    StepTarget(Transformation transformation, int link, Control control) {
        super(transformation, link, control, "connector,task,transformation");
        this.transformation = transformation;
        this.predicate = null;
        this.control = control;
    }

    StepTarget(Predicate predicate, int link, Control control) {
        super(predicate, link, control, "connector,task,predicate");
        this.transformation = null;
        this.predicate = predicate;
        this.control = control;
    }

    Reply answer(String name, List arguments, ColumnReader batch) throws Throwable {
        RecordReader reader = new RecordReader(batch);
        List records = Boolean.TRUE.equals(arguments.get(1)) ? reader.sink(null) : reader.source();
        if (name.equals("test")) {
            List results = new ArrayList();
            for (Iterator all = records.iterator(); all.hasNext();) {
                results.add(Boolean.valueOf(predicate.test((ConnectRecord) all.next())));
            }
            return new Reply(results);
        } else if (name.equals("run")) {
            return run(records, steps((List) arguments.get(2)), Boolean.TRUE.equals(arguments.get(3)));
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    /** One step of a run. */
    private static final class Step {
        Transformation transformation;
        Predicate predicate;
        ClassLoader loader;
        ClassLoader predicateLoader;
        boolean negate;

        Object apply(ConnectRecord record) {
            if (predicate != null) {
                Thread.currentThread().setContextClassLoader(predicateLoader);
                if (predicate.test(record) == negate) {
                    return record;
                }
            }
            Thread.currentThread().setContextClassLoader(loader);
            return transformation.apply(record);
        }
    }

    /** Steps from [link of the transformation, link of the predicate or 0, negate]. */
    private Step[] steps(List described) {
        Step[] steps = new Step[described.size()];
        for (int i = 0; i < steps.length; i++) {
            List one = (List) described.get(i);
            Step step = new Step();
            Link own = control.link(((Long) one.get(0)).intValue());
            step.transformation = ((StepTarget) own.target()).transformation;
            step.loader = own.loader();
            int condition = ((Long) one.get(1)).intValue();
            if (condition != 0) {
                Link other = control.link(condition);
                step.predicate = ((StepTarget) other.target()).predicate;
                step.predicateLoader = other.loader();
            }
            step.negate = Boolean.TRUE.equals(one.get(2));
            steps[i] = step;
        }
        return steps;
    }

    /**
     * Each record through all steps. The value is [count of processed records, places of those that were not dropped,
     * [[place, step, error], ...]]; the batch has the results, then the records that failed as they were before the
     * step. Processing stops after an error that may be retried, after many errors, and after any error if `stops`.
     */
    private static Reply run(List records, Step[] steps, boolean stops) {
        List places = new ArrayList();
        List kept = new ArrayList();
        List failures = new ArrayList();
        List failed = new ArrayList();
        int at = 0;
        boolean goesOn = true;
        while (at < records.size() && goesOn) {
            Object record = records.get(at);
            int step = 0;
            try {
                Object result = record;
                while (result != null && step < steps.length) {
                    record = result;
                    result = steps[step].apply((ConnectRecord) record);
                    step++;
                }
                if (result != null) {
                    places.add(Long.valueOf(at));
                    kept.add(result);
                }
            } catch (OutOfMemoryError error) {
                throw error;
            } catch (Throwable error) {
                List failure = new ArrayList();
                failure.add(Long.valueOf(at));
                failure.add(Long.valueOf(step));
                failure.add(Errors.describe(error));
                failures.add(failure);
                failed.add(record);
                goesOn = !stops && Errors.continues(error, failures.size());
            }
            at++;
        }
        kept.addAll(failed);
        List facts = new ArrayList();
        facts.add(Long.valueOf(at));
        facts.add(places.size() == records.size() ? null : places);
        facts.add(failures);
        return kept.isEmpty() ? new Reply(facts) : new SourceTaskTarget.Records(facts, kept);
    }
}
