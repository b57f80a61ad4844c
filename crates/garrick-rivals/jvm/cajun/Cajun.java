package cajun;

import com.cajunsystems.ActorContext;
import com.cajunsystems.ActorSystem;
import com.cajunsystems.Pid;
import com.cajunsystems.handler.Handler;
import com.cajunsystems.handler.StatefulHandler;
import com.cajunsystems.persistence.BatchedMessageJournal;
import com.cajunsystems.persistence.OperationAwareMessage;
import com.cajunsystems.persistence.impl.FileSystemPersistenceProvider;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import shared.Bench;

/**
 * Measures stateful actors of Cajun, which journal their messages.
 *
 * The arguments are the journal, the number of entities, the milliseconds of the warm-up and of the
 * measurement, the folder, and the bytes of an event.
 */
public final class Cajun {
    record Add(Pid client, byte[] payload) implements OperationAwareMessage {
        @Override
        public boolean isReadOnly() {
            return false;
        }
    }

    record Get(Pid client) implements OperationAwareMessage {
        @Override
        public boolean isReadOnly() {
            return true;
        }
    }

    /** A counter that counts its commands. */
    public static final class Counter implements StatefulHandler<Long, Serializable> {
        @Override
        public Long receive(Serializable message, Long count, ActorContext context) {
            if (message instanceof Add add) {
                context.tell(add.client(), count + 1);
                return count + 1;
            }
            context.tell(((Get) message).client(), count);
            return count;
        }
    }

    /** Asks its counter again and again, one command at a time. */
    record Client(Pid counter, Bench bench, int payloadBytes) implements Handler<Object> {
        @Override
        public void receive(Object message, ActorContext context) {
            if (message.equals("start") || bench.answered()) {
                counter.tell(new Add(context.self(), new byte[payloadBytes]));
            }
        }
    }

    /** Adds up the counts of all counters. */
    record Sum(AtomicLong sum, CountDownLatch answers) implements Handler<Object> {
        @Override
        public void receive(Object count, ActorContext context) {
            sum.addAndGet((Long) count);
            answers.countDown();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int entities = Integer.parseInt(arguments[1]);
        long warmUpMillis = Long.parseLong(arguments[2]), millis = Long.parseLong(arguments[3]);
        Path folder = Path.of(arguments[4]);
        int payloadBytes = Integer.parseInt(arguments[5]);

        var bench = new Bench(entities);
        var system = new ActorSystem();
        var counters = counters(system, entities, folder);
        sum(system, counters);
        for (var counter : counters) {
            system.actorOf(new Client(counter, bench, payloadBytes)).spawn().tell("start");
        }
        bench.measure(warmUpMillis, millis);
        system.shutdown();

        var again = new ActorSystem();
        long stored = sum(again, counters(again, entities, folder));
        again.shutdown();
        bench.print(stored);
        System.exit(0);
    }

    private static List<Pid> counters(ActorSystem system, int entities, Path folder) {
        var files = new FileSystemPersistenceProvider(folder.toString());
        // One for all, because each journal has a thread.
        BatchedMessageJournal<Serializable> journal = files.createBatchedMessageJournal();
        // The default is 100 ms, for which the only command of an entity would wait.
        journal.setMaxBatchDelayMs(1);
        var counters = new ArrayList<Pid>();
        for (int number = 0; number < entities; number++) {
            counters.add(system.statefulActorOf(new Counter(), 0L)
                .withId("counter-" + number)
                .withPersistence(journal, files.createSnapshotStore())
                .spawn());
        }
        return counters;
    }

    /** Waits until each counter has read its messages, and returns the sum of the counts. */
    private static long sum(ActorSystem system, List<Pid> counters) throws Exception {
        var sum = new Sum(new AtomicLong(), new CountDownLatch(counters.size()));
        var client = system.actorOf(sum).spawn();
        for (var counter : counters) {
            counter.tell(new Get(client));
        }
        if (!sum.answers().await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException(sum.answers().getCount() + " counters do not answer");
        }
        return sum.sum().get();
    }
}
