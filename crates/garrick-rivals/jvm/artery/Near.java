package artery;

import artery.Messages.Answer;
import artery.Messages.Ask;
import artery.Messages.Bytes;
import artery.Messages.Mark;
import artery.Messages.Message;
import artery.Messages.Seen;
import artery.Messages.Small;
import artery.Messages.Tally;
import artery.Messages.TallyPlease;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/** The sending node: carries out orders, and prints their outcomes. */
final class Near {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final long LOST_AFTER_NANOS = 3_000_000_000L;

    /** Messages between two confirmations. */
    private static final int BATCH = 1_024;

    /** Batches that are not confirmed. All of them fit into the queue of the connection. */
    private static final int BATCHES = 32;

    /** What the actor of this node gets. */
    private sealed interface Command {}

    private record Send(int bytes, long count, CompletableFuture<Void> done) implements Command {}

    private record Confirmed() implements Command {}

    private record Question(int inFlight, long count, CompletableFuture<long[]> done)
        implements Command {}

    private record Answered(long number, long began, Answer answer, Throwable error)
        implements Command {}

    /** Runs the node until standard input ends. */
    static void run(String far) throws Exception {
        var system = ActorSystem.create(Actor.create(far), "near", Artery.config());
        ActorRef<Message> to = ActorRefResolver.get(system).resolveActorRef(far);
        tally(system, to);
        System.out.println("ready");
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (var line = input.readLine(); line != null; line = input.readLine()) {
            var words = line.split(" ");
            int number = Integer.parseInt(words[1]);
            long count = Long.parseLong(words[2]);
            System.out.println(switch (words[0]) {
                case "tell" -> tell(system, to, number, count);
                case "ask" -> ask(system, to, number, count);
                default -> throw new IllegalArgumentException("no order: " + line);
            });
        }
    }

    private static String tell(
            ActorSystem<Command> system, ActorRef<Message> to, int bytes, long count)
            throws Exception {
        var before = tally(system, to);
        long began = System.nanoTime(), cpu = Artery.cpuNanos();
        var done = new CompletableFuture<Void>();
        system.tell(new Send(bytes, count, done));
        done.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        var after = tally(system, to);
        long ended = System.nanoTime(), used = Artery.cpuNanos() - cpu, since = ended;
        while (after.handled() - before.handled() < count
                && System.nanoTime() - since < LOST_AFTER_NANOS) {
            Thread.sleep(2);
            var now = tally(system, to);
            if (now.handled() > after.handled()) {
                since = ended = System.nanoTime();
                used = Artery.cpuNanos() - cpu;
            }
            after = now;
        }
        long lost = count - (after.handled() - before.handled());
        return outcome(count, lost, ended - began, used, after.cpuNanos() - before.cpuNanos(), "");
    }

    private static String ask(
            ActorSystem<Command> system, ActorRef<Message> to, int inFlight, long count)
            throws Exception {
        var before = tally(system, to);
        long began = System.nanoTime(), cpu = Artery.cpuNanos();
        var done = new CompletableFuture<long[]>();
        system.tell(new Question(inFlight, count, done));
        var times = done.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        long ended = System.nanoTime(), used = Artery.cpuNanos() - cpu;
        var after = tally(system, to);
        Arrays.sort(times);
        var latency = String.format(
            Locale.ROOT,
            ",\"median_us\":%.3f,\"p99_us\":%.3f",
            times[times.length / 2] / 1e3, times[(int) (times.length * 99L / 100)] / 1e3);
        return outcome(
            count, 0, ended - began, used, after.cpuNanos() - before.cpuNanos(), latency);
    }

    private static String outcome(
            long count, long lost, long nanos, long nearCpu, long farCpu, String more) {
        return String.format(
            Locale.ROOT,
            "{\"count\":%d,\"lost\":%d,\"seconds\":%.9f,\"near_cpu\":%.9f,\"far_cpu\":%.9f%s}",
            count, lost, nanos / 1e9, nearCpu / 1e9, farCpu / 1e9, more);
    }

    private static Tally tally(ActorSystem<Command> system, ActorRef<Message> to)
            throws Exception {
        return AskPattern.<Message, Tally>ask(to, TallyPlease::new, LIMIT, system.scheduler())
            .toCompletableFuture()
            .get();
    }

    /** Sends messages, and waits for confirmations. Asks questions, and waits for the answers. */
    private static final class Actor {
        private final ActorContext<Command> context;
        private final ActorRef<Message> to, marks;
        private Send send;
        private long sent;
        private int batches;
        private Question question;
        private long asked;
        private int answered;
        private long[] times;

        private Actor(ActorContext<Command> context, String far) {
            this.context = context;
            to = ActorRefResolver.get(context.getSystem()).resolveActorRef(far);
            Behavior<Message> confirms = Behaviors.receiveMessage(message -> {
                context.getSelf().tell(new Confirmed());
                return Behaviors.same();
            });
            marks = context.spawn(confirms, "marks");
        }

        static Behavior<Command> create(String far) {
            return Behaviors.setup(context -> {
                var actor = new Actor(context, far);
                return Behaviors.receive(Command.class)
                    .onMessage(Send.class, actor::onSend)
                    .onMessage(Confirmed.class, actor::onConfirmed)
                    .onMessage(Question.class, actor::onQuestion)
                    .onMessage(Answered.class, actor::onAnswered)
                    .build();
            });
        }

        private Behavior<Command> onSend(Send order) {
            send = order;
            sent = 0;
            return sendBatches();
        }

        private Behavior<Command> onConfirmed(Confirmed confirmed) {
            batches--;
            return sendBatches();
        }

        private Behavior<Command> sendBatches() {
            while (send != null && batches < BATCHES) {
                for (long end = Math.min(sent + BATCH, send.count()); sent < end; sent++) {
                    to.tell(message(send.bytes(), sent));
                }
                if (sent == send.count()) {
                    send.done().complete(null);
                    send = null;
                } else {
                    batches++;
                    to.tell(new Mark(marks));
                }
            }
            return Behaviors.same();
        }

        private static Message message(int bytes, long number) {
            if (bytes == 16) {
                return new Small(number, number + 1);
            }
            var content = new byte[bytes];
            var buffer = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
            buffer.putLong(number).putLong(number + 1);
            return new Bytes(content);
        }

        private Behavior<Command> onQuestion(Question order) {
            question = order;
            times = new long[(int) order.count()];
            asked = 0;
            answered = 0;
            while (asked < Math.min(order.inFlight(), order.count())) {
                ask();
            }
            return Behaviors.same();
        }

        private void ask() {
            long number = asked++, began = System.nanoTime();
            context.ask(
                Answer.class,
                to,
                LIMIT,
                replyTo -> new Ask(number, number + 1, replyTo),
                (answer, error) -> new Answered(number, began, answer, error));
        }

        private Behavior<Command> onAnswered(Answered done) {
            if (done.error() != null || done.answer().sum() != 2 * done.number() + 1) {
                var why = new IllegalStateException("question " + done.number(), done.error());
                question.done().completeExceptionally(why);
                return Behaviors.same();
            }
            times[answered++] = System.nanoTime() - done.began();
            if (asked < question.count()) {
                ask();
            } else if (answered == question.count()) {
                question.done().complete(times);
            }
            return Behaviors.same();
        }
    }

    private Near() {}
}
