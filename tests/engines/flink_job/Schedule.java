import java.io.Serializable;

/** When the number n is due: rates, constant for a time each, as in "20:50,40:150" (seconds:numbers a second). */
public class Schedule implements Serializable {
    final long startMs;
    final double[] seconds;
    final double[] rate;

    public Schedule(long startMs, String text) {
        this.startMs = startMs;
        String[] parts = text.split(",");
        seconds = new double[parts.length];
        rate = new double[parts.length];
        for (int i = 0; i < parts.length; i++) {
            seconds[i] = Double.parseDouble(parts[i].split(":")[0]);
            rate[i] = Double.parseDouble(parts[i].split(":")[1]);
        }
    }

    public long total() {
        double sum = 0;
        for (int i = 0; i < rate.length; i++) sum += seconds[i] * rate[i];
        return Math.round(sum);
    }

    public long dueMs(long number) {
        double left = number, at = 0;
        for (int i = 0; i < rate.length; i++) {
            if (left < seconds[i] * rate[i]) return startMs + (long) (1000 * (at + left / rate[i]));
            left -= seconds[i] * rate[i];
            at += seconds[i];
        }
        return startMs + (long) (1000 * at);
    }

    /** How many are due by then. */
    public long due(long nowMs) {
        double left = (nowMs - startMs) / 1000.0, sum = 0;
        for (int i = 0; i < rate.length && left > 0; i++) {
            sum += Math.min(left, seconds[i]) * rate[i];
            left -= seconds[i];
        }
        return Math.min((long) sum, total());
    }
}
