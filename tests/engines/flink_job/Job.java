import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.Collector;

/**
 * source -> enrich -> score -> sink, each a vertex of its own, as what is rebalanced or keyed is not chained. `enrich` and `score` wait for each record, as those do that ask
 * another service. The sink writes every number, and how many milliseconds after it was due, into files that appear exactly
 * once; with `score` it says how many of its key came before it, so that lost state shows.
 *
 * Arguments: name, start (ms since 1970, 0 = now), schedule, parts, parallelism, ms of enrich, ms of score, directory.
 */
public class Job {
    static final int KEYS = 97;

    public static void main(String[] args) throws Exception {
        long start = Long.parseLong(args[1]);
        Schedule schedule = new Schedule(start == 0 ? System.currentTimeMillis() : start, args[2]);
        int parallelism = Integer.parseInt(args[4]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        env.setParallelism(parallelism);
        env.setMaxParallelism(64);
        FileSink<String> sink = FileSink.forRowFormat(new Path(args[7]), new SimpleStringEncoder<String>("UTF-8"))
            .withRollingPolicy(OnCheckpointRollingPolicy.build()).withBucketAssigner(new Flat()).build();
        env.fromSource(new Numbers(schedule, Integer.parseInt(args[3])), WatermarkStrategy.noWatermarks(), "source", Types.LONG)
            .uid("source")
            .rebalance().map(new Enrich(Long.parseLong(args[5]))).returns(Types.LONG).name("enrich").uid("enrich")
            .keyBy(number -> number % KEYS, Types.LONG)
            .process(new Score(Long.parseLong(args[6]), schedule)).returns(Types.STRING).name("score").uid("score")
            .rebalance().sinkTo(sink).name("sink").uid("sink");
        env.execute(args[0]);
    }

    static class Flat extends org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.BasePathBucketAssigner<String> {}

    static class Enrich extends RichMapFunction<Long, Long> {
        final long ms;

        Enrich(long ms) {
            this.ms = ms;
        }

        @Override
        public Long map(Long number) throws Exception {
            Thread.sleep(ms);
            return number;
        }
    }

    static class Score extends KeyedProcessFunction<Long, Long, String> {
        final long ms;
        final Schedule schedule;
        transient ValueState<Long> before;

        Score(long ms, Schedule schedule) {
            this.ms = ms;
            this.schedule = schedule;
        }

        @Override
        public void open(OpenContext context) {
            before = getRuntimeContext().getState(new ValueStateDescriptor<>("before", Types.LONG));
        }

        @Override
        public void processElement(Long number, Context context, Collector<String> out) throws Exception {
            Thread.sleep(ms);
            long count = before.value() == null ? 0 : before.value();
            before.update(count + 1);
            out.collect(number + " " + (System.currentTimeMillis() - schedule.dueMs(number)) + " " + count);
        }
    }
}
