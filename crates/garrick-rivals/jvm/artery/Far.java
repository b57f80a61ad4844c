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
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;

/** The receiving node: counts messages, and answers questions. */
final class Far extends AbstractBehavior<Message> {
    private long handled, next;

    private Far(ActorContext<Message> context) {
        super(context);
    }

    /** Runs the node until standard input ends. */
    static void run() throws Exception {
        Behavior<Message> receiver = Behaviors.setup(Far::new);
        var system = ActorSystem.create(receiver, "far", Artery.config());
        var address = ActorRefResolver.get(system).toSerializationFormat(system);
        System.out.println("ready " + address);
        System.in.transferTo(OutputStream.nullOutputStream());
    }

    @Override
    public Receive<Message> createReceive() {
        return newReceiveBuilder()
            .onMessage(Small.class, small -> count(small.first(), small.second()))
            .onMessage(Bytes.class, this::onBytes)
            .onMessage(Ask.class, this::onAsk)
            .onMessage(Mark.class, this::onMark)
            .onMessage(TallyPlease.class, this::onTally)
            .build();
    }

    /** Counts a message, unless it comes after a later one, or its second number is wrong. */
    private Behavior<Message> count(long first, long second) {
        if (second == first + 1 && (first >= next || first == 0)) {
            handled++;
            next = second;
        }
        return this;
    }

    private Behavior<Message> onBytes(Bytes bytes) {
        var content = ByteBuffer.wrap(bytes.content()).order(ByteOrder.LITTLE_ENDIAN);
        return count(content.getLong(), content.getLong());
    }

    private Behavior<Message> onAsk(Ask ask) {
        ask.replyTo().tell(new Answer(ask.first() + ask.second()));
        return this;
    }

    private Behavior<Message> onMark(Mark mark) {
        mark.replyTo().tell(new Seen());
        return this;
    }

    private Behavior<Message> onTally(TallyPlease please) {
        please.replyTo().tell(new Tally(handled, Artery.cpuNanos()));
        return this;
    }
}
