package pekko;

import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;

/** A counter that counts its events. */
final class Entity extends EventSourcedBehavior<Entity.Command, Entity.Added, Long> {
    interface Command {}

    record Add(ActorRef<Long> replyTo) implements Command {}

    record Get(ActorRef<Long> replyTo) implements Command {}

    record Added(byte[] payload) {}

    private final int payloadBytes;

    Entity(int number, int payloadBytes) {
        super(PersistenceId.ofUniqueId("counter-" + number));
        this.payloadBytes = payloadBytes;
    }

    @Override
    public Long emptyState() {
        return 0L;
    }

    @Override
    public CommandHandler<Command, Added, Long> commandHandler() {
        return newCommandHandlerBuilder()
            .forAnyState()
            .onCommand(Add.class, (count, add) -> {
                var added = new Added(new byte[payloadBytes]);
                return Effect().persist(added).thenReply(add.replyTo(), after -> after);
            })
            .onCommand(Get.class, (count, get) -> Effect().reply(get.replyTo(), count))
            .build();
    }

    @Override
    public EventHandler<Long, Added> eventHandler() {
        return newEventHandlerBuilder()
            .forAnyState()
            .onEvent(Added.class, (count, added) -> count + 1)
            .build();
    }
}
