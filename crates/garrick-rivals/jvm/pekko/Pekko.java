package pekko;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.SpawnProtocol;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import shared.Bench;

/** Measures persistent actors of Pekko. The arguments are those of `Cajun`. */
public final class Pekko {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    public static void main(String[] arguments) throws Exception {
        String plugin = arguments[0];
        int entities = Integer.parseInt(arguments[1]);
        long warmUpMillis = Long.parseLong(arguments[2]), millis = Long.parseLong(arguments[3]);
        Path folder = Path.of(arguments[4]);
        int payloadBytes = Integer.parseInt(arguments[5]);

        Config config = config(plugin, folder);
        var bench = new Bench(entities);
        var system = ActorSystem.create(SpawnProtocol.create(), "rivals", config);
        var counters = counters(system, entities, payloadBytes);
        sum(system, counters);
        for (var counter : counters) {
            spawn(system, client(counter, bench));
        }
        bench.measure(warmUpMillis, millis);
        stop(system);

        var again = ActorSystem.create(SpawnProtocol.create(), "again", config);
        long stored = sum(again, counters(again, entities, payloadBytes));
        stop(again);
        bench.print(stored);
        System.exit(0);
    }

    /** Asks its counter again and again, one command at a time. */
    private static Behavior<Long> client(ActorRef<Entity.Command> counter, Bench bench) {
        return Behaviors.setup(context -> {
            var add = new Entity.Add(context.getSelf());
            counter.tell(add);
            return Behaviors.receiveMessage(count -> {
                if (bench.answered()) {
                    counter.tell(add);
                }
                return Behaviors.same();
            });
        });
    }

    private static List<ActorRef<Entity.Command>> counters(
            ActorSystem<SpawnProtocol.Command> system, int entities, int payloadBytes)
            throws Exception {
        var counters = new ArrayList<ActorRef<Entity.Command>>();
        for (int number = 0; number < entities; number++) {
            counters.add(spawn(system, new Entity(number, payloadBytes)));
        }
        return counters;
    }

    private static <M> ActorRef<M> spawn(
            ActorSystem<SpawnProtocol.Command> system, Behavior<M> behavior) throws Exception {
        CompletionStage<ActorRef<M>> spawned = AskPattern.ask(
            system,
            replyTo -> new SpawnProtocol.Spawn<>(behavior, "", Props.empty(), replyTo),
            LIMIT,
            system.scheduler());
        return spawned.toCompletableFuture().get();
    }

    /** Waits until each counter has read its events, and returns the sum of the counts. */
    private static long sum(
            ActorSystem<SpawnProtocol.Command> system, List<ActorRef<Entity.Command>> counters)
            throws Exception {
        long sum = 0;
        for (var counter : counters) {
            CompletionStage<Long> count =
                AskPattern.ask(counter, Entity.Get::new, LIMIT, system.scheduler());
            sum += count.toCompletableFuture().get();
        }
        return sum;
    }

    private static void stop(ActorSystem<?> system) throws Exception {
        system.terminate();
        system.getWhenTerminated().toCompletableFuture().get();
    }

    private static Config config(String plugin, Path folder) throws Exception {
        var common = """
            pekko.loglevel = WARNING
            pekko.log-dead-letters = off
            pekko.persistence.typed.log-stashing = off
            pekko.persistence.max-concurrent-recoveries = 64
            pekko.actor {
              serializers.added = "pekko.AddedSerializer"
              serialization-bindings { "pekko.Entity$Added" = added }
            }
            """;
        var own = switch (plugin) {
            case "leveldb" -> """
                pekko.persistence.journal {
                  plugin = "pekko.persistence.journal.leveldb"
                  leveldb { dir = "%s", fsync = on, native = on }
                }
                """.formatted(folder);
            case "sqlite" -> sqlite(folder.resolve("events.sqlite"));
            default -> throw new IllegalArgumentException("unknown plugin " + plugin);
        };
        return ConfigFactory.parseString(common + own).withFallback(ConfigFactory.load()).resolve();
    }

    /** Creates the tables of the plugin, and returns its configuration. */
    private static String sqlite(Path file) throws Exception {
        var url = "jdbc:sqlite:" + file + "?journal_mode=WAL&synchronous=FULL&busy_timeout=60000";
        try (var connection = DriverManager.getConnection(url);
                var statement = connection.createStatement()) {
            for (var command : resource("/tables.sql").split(";\\s*\n")) {
                statement.execute(command);
            }
        }
        return """
            pekko.persistence.journal.plugin = "jdbc-journal"
            jdbc-journal {
              bufferSize = 10000
              parallelism = 1
              slick {
                profile = "slick.jdbc.SQLiteProfile$"
                db {
                  url = "%s"
                  driver = "org.sqlite.JDBC"
                  numThreads = 1
                  maxConnections = 1
                  minConnections = 1
                }
              }
            }
            """.formatted(url);
    }

    private static String resource(String name) throws IOException {
        try (var stream = Pekko.class.getResourceAsStream(name)) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
