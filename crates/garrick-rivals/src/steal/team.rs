//! The trait that all contenders of the work-stealing benchmarks implement.

/// A group of threads that exchange values. Each thread has its own handle.
pub(super) trait Team: 'static {
    /// Handle of one thread.
    type Hand: Send + 'static;

    /// Creates `members` handles. Only the first `senders` of these handles will be used to send.
    fn open(members: u64, senders: u64) -> Vec<Self::Hand>;

    /// Sends `value`. `hand` is the handle of the calling thread.
    fn send(hand: &mut Self::Hand, value: u64);

    /// Receives a value if there is one.
    fn try_recv(hand: &mut Self::Hand) -> Option<u64>;

    /// Records that a sender has sent its last value.
    fn retire(hand: &mut Self::Hand);

    /// Receives a value. If there is none, waits for a value by the best method that the contender
    /// has. Returns `None` if all senders have sent their last values, and no value is left for
    /// this thread.
    fn recv(hand: &mut Self::Hand) -> Option<u64>;
}
