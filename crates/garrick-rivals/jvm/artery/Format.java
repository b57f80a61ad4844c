package artery;

import artery.Messages.Answer;
import artery.Messages.Ask;
import artery.Messages.Bytes;
import artery.Messages.Mark;
import artery.Messages.Seen;
import artery.Messages.Small;
import artery.Messages.Tally;
import artery.Messages.TallyPlease;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.serialization.ByteBufferSerializer;
import org.apache.pekko.serialization.SerializerWithStringManifest;

/** Writes messages by hand into the buffers of Artery, which is the fastest way. */
public final class Format extends SerializerWithStringManifest implements ByteBufferSerializer {
    private static final int WITHOUT_CONTENT = 1024;

    private final ActorRefResolver resolver;

    public Format(ExtendedActorSystem system) {
        resolver = ActorRefResolver.get(Adapter.toTyped(system));
    }

    @Override
    public int identifier() {
        return 7_312;
    }

    @Override
    public String manifest(Object message) {
        if (message instanceof Small) {
            return "s";
        } else if (message instanceof Bytes) {
            return "b";
        } else if (message instanceof Ask) {
            return "q";
        } else if (message instanceof Answer) {
            return "a";
        } else if (message instanceof Mark) {
            return "m";
        } else if (message instanceof Seen) {
            return "o";
        } else if (message instanceof TallyPlease) {
            return "p";
        } else if (message instanceof Tally) {
            return "t";
        }
        throw new IllegalArgumentException("no message: " + message.getClass());
    }

    @Override
    public void toBinary(Object message, ByteBuffer buffer) {
        buffer.order(ByteOrder.LITTLE_ENDIAN);
        if (message instanceof Small small) {
            buffer.putLong(small.first()).putLong(small.second());
        } else if (message instanceof Bytes bytes) {
            buffer.put(bytes.content());
        } else if (message instanceof Ask ask) {
            buffer.putLong(ask.first()).putLong(ask.second());
            put(buffer, ask.replyTo());
        } else if (message instanceof Answer answer) {
            buffer.putLong(answer.sum());
        } else if (message instanceof Mark mark) {
            put(buffer, mark.replyTo());
        } else if (message instanceof TallyPlease please) {
            put(buffer, please.replyTo());
        } else if (message instanceof Tally tally) {
            buffer.putLong(tally.handled()).putLong(tally.cpuNanos());
        }
    }

    @Override
    public Object fromBinary(ByteBuffer buffer, String manifest) {
        buffer.order(ByteOrder.LITTLE_ENDIAN);
        return switch (manifest) {
            case "s" -> new Small(buffer.getLong(), buffer.getLong());
            case "b" -> new Bytes(rest(buffer));
            case "q" -> new Ask(buffer.getLong(), buffer.getLong(), reference(buffer));
            case "a" -> new Answer(buffer.getLong());
            case "m" -> new Mark(reference(buffer));
            case "o" -> new Seen();
            case "p" -> new TallyPlease(reference(buffer));
            case "t" -> new Tally(buffer.getLong(), buffer.getLong());
            default -> throw new IllegalArgumentException("unknown manifest " + manifest);
        };
    }

    @Override
    public byte[] toBinary(Object message) {
        int content = message instanceof Bytes bytes ? bytes.content().length : WITHOUT_CONTENT;
        var buffer = ByteBuffer.allocate(content);
        toBinary(message, buffer);
        buffer.flip();
        return rest(buffer);
    }

    @Override
    public Object fromBinary(byte[] bytes, String manifest) {
        return fromBinary(ByteBuffer.wrap(bytes), manifest);
    }

    private void put(ByteBuffer buffer, ActorRef<?> reference) {
        var text = resolver.toSerializationFormat(reference);
        buffer.put(text.getBytes(StandardCharsets.US_ASCII));
    }

    private <M> ActorRef<M> reference(ByteBuffer buffer) {
        return resolver.resolveActorRef(new String(rest(buffer), StandardCharsets.US_ASCII));
    }

    private static byte[] rest(ByteBuffer buffer) {
        var content = new byte[buffer.remaining()];
        buffer.get(content);
        return content;
    }
}
