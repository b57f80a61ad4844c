package artery;

import com.sun.management.OperatingSystemMXBean;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.lang.management.ManagementFactory;

/** Measures messages between two nodes of Pekko. The first argument is the side to run. */
public final class Artery {
    public static void main(String[] arguments) throws Exception {
        String side = arguments[0];
        switch (side) {
            case "far" -> Far.run();
            case "near" -> Near.run(arguments[4]);
            default -> throw new IllegalArgumentException("unknown side " + side);
        }
        System.exit(0);
    }

    static Config config() {
        var own = """
            pekko {
              loglevel = WARNING
              log-dead-letters = off
              actor {
                provider = remote
                allow-java-serialization = off
                serializers.far = "artery.Format"
                serialization-bindings { "artery.Messages$Message" = far }
              }
              remote {
                warn-about-direct-use = off
                use-unsafe-remote-features-outside-cluster = on
                artery {
                  transport = tcp
                  canonical { hostname = "127.0.0.1", port = 0 }
                  advanced.outbound-message-queue-size = 65536
                }
              }
            }
            """;
        return ConfigFactory.parseString(own).withFallback(ConfigFactory.load()).resolve();
    }

    static long cpuNanos() {
        var system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        return system.getProcessCpuTime();
    }

    private Artery() {}
}
