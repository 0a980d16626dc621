package dovetail.spark;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.*;

/**
 * Dovetail's part inside the driver's JVM: tells what happens, and keeps the priorities of task sets as they were
 * decided.  It decides nothing.
 *
 * Why not all of it from Python: a look is then one call instead of dozens; priorities change under the lock of the
 * task scheduler, which Python cannot take and without which Spark could be sorting just then; and a task set that has
 * got what was decided steps back as soon as Spark has told of its last launch, not at the next look.
 *
 * Compiled in the driver by Janino, which Spark brings with it; hence no generics and no lambdas.
 */
public class SteeringHook extends SparkListener {
    // Spark compares priorities by their difference, so no two may be further apart than an int holds.
    private static final int FRONT = -500000000; // below its claim: rank by rank
    private static final int BACK = 500000000; // has what it was to have: only for what nobody else wants

    private final SparkContext context;
    private final TaskSchedulerImpl scheduler;
    private final MapOutputTrackerMaster outputs;
    private final long leaseMs;
    private final Object door = new Object(); // guards what follows; never held while the scheduler's lock is taken

    private StringBuilder events = new StringBuilder();
    private final Map tasks = new HashMap(); // stage -> {ended, milliseconds}, since the last look
    private final Map toLaunch = new HashMap(); // stage -> tasks not launched yet
    private boolean stirred = false;
    private volatile long lookedAtMs = System.currentTimeMillis();

    // guarded by the scheduler's lock
    private Map claims = null; // stage -> {slots, rank}; null: everything is Spark's
    private final Map before = new IdentityHashMap(); // task set -> priority that Spark gave it
    private boolean expired = false;

    public SteeringHook(SparkContext context, TaskScheduler scheduler, Integer leaseMs) throws Exception {
        this.context = context;
        this.scheduler = (TaskSchedulerImpl) scheduler;
        this.leaseMs = leaseMs.longValue();
        Field field = TaskSchedulerImpl.class.getDeclaredField("mapOutputTracker");
        field.setAccessible(true);
        this.outputs = (MapOutputTrackerMaster) field.get(scheduler);
    }

    // --- what Spark tells ---

    public void onJobStart(SparkListenerJobStart event) {
        StringBuilder line = new StringBuilder();
        Properties properties = event.properties();
        line.append("job\t").append(event.time()).append('\t').append(event.jobId());
        this.names(line, properties);
        line.append('\n');
        for (Iterator it = scala.jdk.javaapi.CollectionConverters.asJava(event.stageInfos()).iterator(); it.hasNext();) {
            StageInfo info = (StageInfo) it.next();
            line.append("stage\t").append(event.jobId()).append('\t').append(info.stageId());
            line.append('\t').append(info.numTasks()).append('\t').append(this.isThere(info) ? 1 : 0).append('\t');
            Iterator parents = scala.jdk.javaapi.CollectionConverters.asJava(info.parentIds()).iterator();
            while (parents.hasNext()) {
                line.append(parents.next());
                if (parents.hasNext()) line.append(',');
            }
            line.append('\t').append(this.clean(info.name())).append('\n');
        }
        this.tell(line.toString(), true);
    }

    public void onJobEnd(SparkListenerJobEnd event) {
        this.tell("job_end\t" + event.time() + "\t" + event.jobId() + "\n", true);
    }

    public void onStageSubmitted(SparkListenerStageSubmitted event) {
        StageInfo info = event.stageInfo();
        synchronized (this.door) {
            this.toLaunch.put(Integer.valueOf(info.stageId()), new int[] {info.numTasks()});
        }
        this.tell("submitted\t" + info.stageId() + "\t" + info.numTasks() + "\n", true);
    }

    public void onStageCompleted(SparkListenerStageCompleted event) {
        StageInfo info = event.stageInfo();
        synchronized (this.door) {
            this.toLaunch.remove(Integer.valueOf(info.stageId()));
        }
        int failed = info.failureReason().isDefined() ? 1 : 0;
        this.tell("completed\t" + info.stageId() + "\t" + failed + "\n", true);
    }

    public void onTaskStart(SparkListenerTaskStart event) {
        boolean dry = false;
        synchronized (this.door) {
            int[] left = (int[]) this.toLaunch.get(Integer.valueOf(event.stageId()));
            if (left != null) {
                left[0] = left[0] - 1;
                dry = left[0] == 0;
            }
        }
        this.order();
        if (dry) this.tell("", true);
    }

    public void onTaskEnd(SparkListenerTaskEnd event) {
        if (event.taskInfo().successful()) {
            synchronized (this.door) {
                Integer stage = Integer.valueOf(event.stageId());
                long[] sum = (long[]) this.tasks.get(stage);
                if (sum == null) {
                    sum = new long[2];
                    this.tasks.put(stage, sum);
                }
                sum[0] = sum[0] + 1;
                sum[1] = sum[1] + event.taskInfo().duration();
            }
        }
        this.order();
    }

    public void onExecutorAdded(SparkListenerExecutorAdded event) {
        this.tell("", true);
    }

    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        this.tell("", true);
    }

    // --- what Python asks ---

    /** What happened since the last look and how things are, at the latest after so long; earlier if it matters. */
    public String look(int waitMs) throws Exception {
        long until = System.currentTimeMillis() + waitMs;
        StringBuilder told;
        synchronized (this.door) {
            this.lookedAtMs = System.currentTimeMillis();
            long left = until - System.currentTimeMillis();
            while (!this.stirred && left > 0) {
                this.door.wait(left);
                left = until - System.currentTimeMillis();
            }
            this.lookedAtMs = System.currentTimeMillis();
            this.stirred = false;
            told = this.events;
            this.events = new StringBuilder();
            for (Iterator it = this.tasks.entrySet().iterator(); it.hasNext();) {
                Map.Entry entry = (Map.Entry) it.next();
                long[] sum = (long[]) entry.getValue();
                told.append("ended\t").append(entry.getKey()).append('\t').append(sum[0]).append('\t').append(sum[1]).append('\n');
            }
            this.tasks.clear();
        }
        int slots = this.context.maxNumConcurrentTasks(this.context.resourceProfileManager().defaultResourceProfile());
        synchronized (this.scheduler) {
            told.append("now\t").append(System.currentTimeMillis()).append('\t').append(slots);
            told.append('\t').append(this.expired ? 1 : 0).append('\n');
            this.walk(this.scheduler.rootPool(), told);
        }
        return told.toString();
    }

    /** Executors and the tasks that each runs now, a line for each. */
    public String executors() {
        StringBuilder told = new StringBuilder();
        scala.collection.immutable.Map running = this.scheduler.runningTasksByExecutors();
        Iterator it = scala.jdk.javaapi.CollectionConverters.asJava(this.context.getExecutorIds()).iterator();
        while (it.hasNext()) {
            Object name = it.next();
            scala.Option many = running.get(name);
            told.append(name).append('\t').append(many.isDefined() ? many.get() : Integer.valueOf(0)).append('\n');
        }
        return told.toString();
    }

    /** Ask the cluster manager for so many in all. */
    public boolean request(int total) {
        scala.collection.immutable.Map nowhere = scala.collection.immutable.Map$.MODULE$.empty();
        return this.context.requestTotalExecutors(total, 0, nowhere);
    }

    /** Give these back; names between commas.  The cluster manager does not replace them. */
    public boolean kill(String names) {
        java.util.List list = new java.util.ArrayList();
        String[] words = names.split(",");
        for (int at = 0; at < words.length; at++) list.add(words[at]);
        scala.collection.mutable.Buffer buffer = scala.jdk.javaapi.CollectionConverters.asScala(list);
        return this.context.killExecutors((scala.collection.immutable.Seq) buffer.toSeq());
    }

    /** Lines of stage, slots and rank.  What is not named keeps the priority that Spark gave it. */
    public int steer(String text) {
        Map wanted = new HashMap();
        String[] lines = text.split("\n");
        for (int at = 0; at < lines.length; at++) {
            if (lines[at].length() == 0) continue;
            String[] words = lines[at].split(" ");
            wanted.put(Integer.valueOf(words[0]), new int[] {Integer.parseInt(words[1]), Integer.parseInt(words[2])});
        }
        synchronized (this.scheduler) {
            this.claims = wanted;
            this.expired = false;
        }
        return this.order();
    }

    /** Everything as Spark had it; how many task sets were changed back. */
    public int restore() {
        synchronized (this.scheduler) {
            this.claims = null;
            int many = 0;
            for (Iterator it = this.before.entrySet().iterator(); it.hasNext();) {
                Map.Entry entry = (Map.Entry) it.next();
                ((TaskSetManager) entry.getKey()).priority_$eq(((Integer) entry.getValue()).intValue());
                many++;
            }
            this.before.clear();
            return many;
        }
    }

    // --- inside ---

    /** Priorities by claims; how many task sets changed.  Without a look for too long, everything is given back. */
    private int order() {
        synchronized (this.scheduler) {
            if (this.claims == null) return 0;
            if (System.currentTimeMillis() - this.lookedAtMs > this.leaseMs) {
                this.expired = true;
                return this.restore();
            }
            int changed = 0;
            Map seen = new IdentityHashMap();
            for (Iterator it = this.scheduler.rootPool().schedulableQueue().iterator(); it.hasNext();) {
                Object one = it.next();
                if (!(one instanceof TaskSetManager)) continue;
                TaskSetManager set = (TaskSetManager) one;
                seen.put(set, set);
                int[] claim = (int[]) this.claims.get(Integer.valueOf(set.stageId()));
                if (claim == null) {
                    if (this.before.containsKey(set)) {
                        set.priority_$eq(((Integer) this.before.remove(set)).intValue());
                        changed++;
                    }
                    continue;
                }
                int wanted = (set.runningTasks() < claim[0] ? FRONT : BACK) + claim[1];
                if (set.priority() != wanted) {
                    if (!this.before.containsKey(set)) this.before.put(set, Integer.valueOf(set.priority()));
                    set.priority_$eq(wanted);
                    changed++;
                }
            }
            this.before.keySet().retainAll(seen.keySet());
            return changed;
        }
    }

    /** Task sets of a pool and of those in it. */
    private void walk(Pool pool, StringBuilder told) {
        for (Iterator it = pool.schedulableQueue().iterator(); it.hasNext();) {
            Object one = it.next();
            if (one instanceof Pool) this.walk((Pool) one, told);
            if (!(one instanceof TaskSetManager)) continue;
            TaskSetManager set = (TaskSetManager) one;
            told.append("set\t").append(set.stageId()).append('\t').append(set.priority());
            told.append('\t').append(set.runningTasks()).append('\t').append(set.tasksSuccessful());
            told.append('\t').append(set.numTasks());
            this.names(told, set.taskSet().properties());
            told.append('\n');
        }
    }

    /** Group, SQL execution and description. */
    private void names(StringBuilder line, Properties properties) {
        String[] keys = {"spark.jobGroup.id", "spark.sql.execution.id", "spark.job.description"};
        for (int at = 0; at < keys.length; at++) {
            String value = properties == null ? null : properties.getProperty(keys[at]);
            line.append('\t').append(value == null ? "" : this.clean(value));
        }
    }

    /** Whether the outputs of a stage are there already, so that Spark will skip it. */
    private boolean isThere(StageInfo info) {
        if (!info.shuffleDepId().isDefined()) return false;
        int shuffle = ((Integer) info.shuffleDepId().get()).intValue();
        return this.outputs.containsShuffle(shuffle) && this.outputs.getNumAvailableOutputs(shuffle) == info.numTasks();
    }

    private void tell(String line, boolean stirs) {
        synchronized (this.door) {
            this.events.append(line);
            if (stirs) {
                this.stirred = true;
                this.door.notifyAll();
            }
        }
    }

    private String clean(String text) {
        return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
    }
}
