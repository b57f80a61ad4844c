//! What all contenders can do.

/// Threads that share values, each by a handle of its own.
pub(super) trait Team: 'static {
    /// One thread's handle.
    type Hand: Send + 'static;

    /// Makes `members` handles. The first `senders` of them will send.
    fn open(members: u64, senders: u64) -> Vec<Self::Hand>;

    /// Sends a value.
    fn send(hand: &mut Self::Hand, value: u64);

    /// Receives a value if it finds one.
    fn try_recv(hand: &mut Self::Hand) -> Option<u64>;

    /// A sender has sent all that it will.
    fn retire(hand: &mut Self::Hand);

    /// Receives a value, waiting for one in the best way there is; `None` once all senders have retired and
    /// nothing is left for this thread.
    fn recv(hand: &mut Self::Hand) -> Option<u64>;
}
