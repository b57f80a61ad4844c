package pekko;

import org.apache.pekko.serialization.JSerializer;

/** Stores the bytes of an event as they are. */
public final class AddedSerializer extends JSerializer {
    @Override
    public int identifier() {
        return 76_001;
    }

    @Override
    public boolean includeManifest() {
        return false;
    }

    @Override
    public byte[] toBinary(Object event) {
        return ((Entity.Added) event).payload();
    }

    @Override
    public Object fromBinaryJava(byte[] bytes, Class<?> manifest) {
        return new Entity.Added(bytes);
    }
}
