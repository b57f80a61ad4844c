package shared;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The state that the clients of a run share, and the measurement of the run. */
public final class Bench {
    /** Commands whose answers have come. */
    public final AtomicLong acknowledged = new AtomicLong();

    /** True when no client may send any more. */
    public volatile boolean isOver;

    private final CountDownLatch clients;
    private double began, ended, cpuSeconds;
    private long commands;

    public Bench(int entities) {
        clients = new CountDownLatch(entities);
    }

    /** Counts an answer. Returns true if the client shall send the next command. */
    public boolean answered() {
        acknowledged.incrementAndGet();
        if (isOver) {
            clients.countDown();
        }
        return !isOver;
    }

    /** Measures the clients, which are at work, and returns when each of them has ended. */
    public void measure(long warmUpMillis, long millis) throws InterruptedException {
        Thread.sleep(warmUpMillis);
        long before = acknowledged.get();
        long cpu = cpuNanos(), start = System.nanoTime();
        began = unixSeconds();
        Thread.sleep(millis);
        commands = acknowledged.get() - before;
        ended = began + (System.nanoTime() - start) / 1e9;
        cpuSeconds = (cpuNanos() - cpu) / 1e9;
        isOver = true;
        if (!clients.await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException(clients.getCount() + " clients have no answer");
        }
    }

    /** Prints the measurement as JSON. `stored` is what the entities have read after the run. */
    public void print(long stored) {
        System.out.printf(
            java.util.Locale.ROOT,
            "{\"commands\":%d,\"began\":%.6f,\"ended\":%.6f,\"cpu_seconds\":%.6f,"
                + "\"acknowledged\":%d,\"stored\":%d}%n",
            commands, began, ended, cpuSeconds, acknowledged.get(), stored);
    }

    private static double unixSeconds() {
        var now = java.time.Instant.now();
        return now.getEpochSecond() + now.getNano() / 1e9;
    }

    private static long cpuNanos() {
        var system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return system.getProcessCpuTime();
    }
}
