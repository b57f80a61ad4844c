package artery;

import org.apache.pekko.actor.typed.ActorRef;

/** What the two nodes send to each other. */
final class Messages {
    sealed interface Message {}

    /** A message of 16 bytes. The second number is the first plus one. */
    record Small(long first, long second) implements Message {}

    /** A larger message, which begins with the same two numbers. */
    record Bytes(byte[] content) implements Message {}

    /** Asks for a confirmation that all messages before this one were handled. */
    record Mark(ActorRef<Message> replyTo) implements Message {}

    record Seen() implements Message {}

    record Ask(long first, long second, ActorRef<Answer> replyTo) implements Message {}

    record Answer(long sum) implements Message {}

    record TallyPlease(ActorRef<Tally> replyTo) implements Message {}

    record Tally(long handled, long cpuNanos) implements Message {}

    private Messages() {}
}
