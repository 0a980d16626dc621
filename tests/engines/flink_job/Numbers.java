import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * 0, 1, 2, ... each when it is due, whoever reads: a log in parts that others write to, with a position in each. What is due and
 * was not read yet waits there, and is told as `pendingRecords`. It ends when all are read.
 */
public class Numbers implements Source<Long, Numbers.Part, List<Numbers.Part>> {
    final Schedule schedule;
    final int parts;

    public Numbers(Schedule schedule, int parts) {
        this.schedule = schedule;
        this.parts = parts;
    }

    /** Part p has p, p + parts, p + 2 parts, ...; `next` is to be read. */
    public static class Part implements SourceSplit {
        final int part;
        long next;

        Part(int part, long next) {
            this.part = part;
            this.next = next;
        }

        @Override
        public String splitId() {
            return "part-" + part;
        }
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Long, Part> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    @Override
    public SplitEnumerator<Part, List<Part>> createEnumerator(SplitEnumeratorContext<Part> context) {
        List<Part> all = new ArrayList<>();
        for (int part = 0; part < parts; part++) all.add(new Part(part, part));
        return new Dealer(context, all);
    }

    @Override
    public SplitEnumerator<Part, List<Part>> restoreEnumerator(SplitEnumeratorContext<Part> context, List<Part> left) {
        return new Dealer(context, left);
    }

    @Override
    public SimpleVersionedSerializer<Part> getSplitSerializer() {
        return new PartBytes();
    }

    @Override
    public SimpleVersionedSerializer<List<Part>> getEnumeratorCheckpointSerializer() {
        return new PartsBytes();
    }

    class Reader implements SourceReader<Long, Part> {
        final SourceReaderContext context;
        final List<Part> mine = new ArrayList<>();

        Reader(SourceReaderContext context) {
            this.context = context;
        }

        @Override
        public void start() {
            context.metricGroup().setPendingRecordsGauge(this::pending);
        }

        long pending() {
            long due = schedule.due(System.currentTimeMillis()), sum = 0;
            for (Part part : mine) sum += Math.max(0, (due - part.next + parts - 1) / parts);
            return sum;
        }

        Part first() {
            Part first = null;
            for (Part part : mine)
                if (part.next < schedule.total() && (first == null || part.next < first.next)) first = part;
            return first;
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Long> output) {
            Part part = first();
            long now = System.currentTimeMillis();
            if (part == null) return now > end() ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
            if (schedule.dueMs(part.next) > now) return InputStatus.NOTHING_AVAILABLE;
            context.metricGroup().getIOMetricGroup().getNumRecordsInCounter().inc();
            output.collect(part.next);
            part.next += parts;
            return InputStatus.MORE_AVAILABLE;
        }

        long end() {
            return schedule.dueMs(schedule.total());
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            Part part = first();
            long wait = part == null ? 100 : schedule.dueMs(part.next) - System.currentTimeMillis();
            if (wait <= 0) return CompletableFuture.completedFuture(null);
            return CompletableFuture.runAsync(
                () -> {}, CompletableFuture.delayedExecutor(Math.min(wait, 100), TimeUnit.MILLISECONDS));
        }

        @Override
        public List<Part> snapshotState(long checkpoint) {
            List<Part> found = new ArrayList<>();
            for (Part part : mine) found.add(new Part(part.part, part.next));
            return found;
        }

        @Override
        public void addSplits(List<Part> splits) {
            mine.addAll(splits);
        }

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }

    /** Deals the parts out once; from then on they belong to the state of the readers. */
    static class Dealer implements SplitEnumerator<Part, List<Part>> {
        final SplitEnumeratorContext<Part> context;
        final ArrayDeque<Part> left;

        Dealer(SplitEnumeratorContext<Part> context, Collection<Part> left) {
            this.context = context;
            this.left = new ArrayDeque<>(left);
        }

        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int reader, String host) {}

        @Override
        public void addSplitsBack(List<Part> splits, int reader) {
            left.addAll(splits);
        }

        @Override
        public void addReader(int reader) {
            if (context.registeredReaders().size() < context.currentParallelism()) return;
            for (int to = 0; !left.isEmpty(); to = (to + 1) % context.currentParallelism())
                context.assignSplit(left.poll(), to);
        }

        @Override
        public List<Part> snapshotState(long checkpoint) {
            return new ArrayList<>(left);
        }

        @Override
        public void close() {}
    }

    static class PartBytes implements SimpleVersionedSerializer<Part> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Part part) {
            return ByteBuffer.allocate(12).putInt(part.part).putLong(part.next).array();
        }

        @Override
        public Part deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new Part(buffer.getInt(), buffer.getLong());
        }
    }

    static class PartsBytes implements SimpleVersionedSerializer<List<Part>> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(List<Part> parts) {
            ByteBuffer buffer = ByteBuffer.allocate(12 * parts.size());
            for (Part part : parts) buffer.putInt(part.part).putLong(part.next);
            return buffer.array();
        }

        @Override
        public List<Part> deserialize(int version, byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            List<Part> parts = new ArrayList<>();
            while (buffer.hasRemaining()) parts.add(new Part(buffer.getInt(), buffer.getLong()));
            return parts;
        }
    }
}
