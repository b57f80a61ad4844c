//! The trait of tasks, which crates built on this one implement.

use std::any::type_name;

use crate::runtime::turn::Turn;

/// The result of a turn: it determines if the turn commits, and if the task continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The turn commits and the task continues.
    Continue,
    /// The turn commits and the task is dropped. The messages in its mailbox become dead letters.
    Stop,
    /// All staged effects of the turn are discarded, and the task continues. Changes to the task's
    /// own fields stay.
    Undo,
}

/// Tells if the memory block of a task contains the state of a bounded mailbox. Unsafe code relies
/// on this value, so other crates can only create [`Bound::NO`]:
/// ```compile_fail,E0624
/// let _ = garrick_sched::Bound::YES;
/// ```
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Bound(bool);

impl Bound {
    /// There is no bounded mailbox.
    pub const NO: Self = Self(false);
    /// The block is a `Bounded` block.
    pub(crate) const YES: Self = Self(true);

    /// Returns true if there is a bounded mailbox.
    pub(crate) const fn is_bounded(self) -> bool {
        self.0
    }
}

/// A sequential process with a mailbox. A task handles its messages one after another, and never
/// runs on two threads at the same time.
pub trait Task: Sized + 'static {
    /// The type of the messages. A message can have at most
    /// [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX) bytes. Code that creates a task with larger
    /// messages does not compile.
    type Message: 'static;

    /// True if [`Task::start`] must be called. In this case, `start` is called even if the task
    /// never receives a message.
    const STARTS: bool = false;

    /// Called once, before the first message, if [`Task::STARTS`] is true.
    fn start(&mut self, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = turn;
        Flow::Continue
    }

    /// Handles one message.
    fn receive(&mut self, message: Self::Message, turn: &Turn<'_, Self::Message>) -> Flow;

    /// Handles a [nudge](Turn::nudge), which is a request for a turn without a message. Does
    /// nothing by default.
    fn nudged(&mut self, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = turn;
        Flow::Continue
    }

    /// Called when the task has been asked to stop ([`Address::stop`](crate::Address::stop)), after
    /// all earlier messages. Returns true if the task stops now, which is the default. A task that
    /// still keeps some of these messages can return false. Then it must stop itself later.
    #[doc(hidden)]
    fn stops(&mut self) -> bool {
        true
    }

    /// True if most turns of the task call [`Turn::blocking`].
    ///
    /// [`Builder::blocking_threads`](crate::Builder::blocking_threads) limits how many turns can
    /// block at the same time. While this limit is reached, a task with `BLOCKS = true` does not
    /// begin to handle messages and does not occupy a worker. If a task with `BLOCKS = false` then
    /// calls [`Turn::blocking`], the call blocks its worker.
    const BLOCKS: bool = false;

    /// True if turns of the task may call [`Turn::commit_later`].
    #[doc(hidden)]
    const COMMITS_LATER: bool = false;

    /// Tells if the memory block of the task contains the state of a bounded mailbox. Only this
    /// crate can create a task with such a block.
    #[doc(hidden)]
    const BOUNDED: Bound = Bound::NO;

    /// Handles a message from a bounded mailbox. An implementation calls `use_up` immediately
    /// before it handles the message. This call frees the message's place in the mailbox.
    ///
    /// If an implementation holds the message back for a later turn, it does not call `use_up`, so
    /// that the message keeps its place. In the later turn, it calls [`Turn::use_up_place`].
    #[doc(hidden)]
    #[inline]
    fn receive_bounded(
        &mut self,
        message: Self::Message,
        turn: &Turn<'_, Self::Message>,
        use_up: impl FnOnce(),
    ) -> Flow {
        use_up();
        self.receive(message, turn)
    }

    /// True if [`Task::recover`] is called after a turn has panicked. If the value is false, the
    /// task is dropped after such a turn.
    const RECOVERS: bool = false;

    /// Called after a turn has panicked, if [`Task::RECOVERS`] is true. `message` is the panic
    /// message.
    ///
    /// All staged effects of the failed turn were discarded. But the changes that this turn made to
    /// the task's own fields stay. `recover` runs as a separate turn, in which the task may repair
    /// its state. If it returns [`Flow::Continue`], the task continues with the next message. By
    /// default, the task stops.
    fn recover(&mut self, message: &str, turn: &Turn<'_, Self::Message>) -> Flow {
        let _ = (message, turn);
        Flow::Stop
    }

    /// True if the panics of turns are passed to the reporter of the sponsor. If the value is
    /// false, the task itself reports them in [`Task::recover`]. In both cases, the panics are
    /// counted.
    #[doc(hidden)]
    const REPORTS: bool = true;

    /// True if the task belongs to a library and not to the program. Telemetry does not show such
    /// tasks among the tasks of the program.
    #[doc(hidden)]
    const INTERNAL: bool = false;

    /// Returns true if a message counts as a dead letter when it is not handled. By default, every
    /// message counts. An implementation can return false for internal messages of the task, which
    /// do not come from a sender.
    fn is_letter(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Names of the kinds of messages, for example the variants of an enum. By default, the
    /// messages have no kinds.
    ///
    /// If there are names, telemetry shows how many messages of each kind the tasks of this type
    /// have handled, and how long the handling took. The first 32 kinds are counted separately, and
    /// the other kinds together.
    const MESSAGES: &'static [&'static str] = &[];

    /// Returns the kind of a message, as an index into [`Task::MESSAGES`].
    ///
    /// The worker of the task calls this function between two turns, for some of the messages, so
    /// messages that the function sends belong to no turn. The function must be fast. If it panics
    /// or returns an index without a name, the message is counted as
    /// [`MessageSample::OTHER`](crate::MessageSample::OTHER).
    fn message_kind(message: &Self::Message) -> usize {
        let _ = message;
        0
    }

    /// Returns the name that reports use for tasks of this type. By default, this is the name of
    /// the type.
    fn name() -> &'static str {
        type_name::<Self>()
    }

    /// Returns a label that distinguishes this task from others of its type, for example its path.
    /// By default, a task has no label.
    ///
    /// Labels appear in [`TaskSample::label`](crate::TaskSample::label). The worker of the task
    /// calls this method between two turns, so messages that the method sends belong to no turn.
    /// The method must be fast. If it panics, the task has no label.
    fn label(&self) -> Option<String> {
        None
    }
}

/// A box for a task that is too large for a memory block of the pool, or that needs a larger
/// alignment than a block has.
pub(crate) struct Boxed<T>(pub(crate) Box<T>);

impl<T: Task> Task for Boxed<T> {
    type Message = T::Message;
    const STARTS: bool = T::STARTS;

    fn start(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.start(turn)
    }

    fn receive(&mut self, message: T::Message, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.receive(message, turn)
    }

    fn nudged(&mut self, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.nudged(turn)
    }

    fn stops(&mut self) -> bool {
        self.0.stops()
    }

    const BLOCKS: bool = T::BLOCKS;
    const COMMITS_LATER: bool = T::COMMITS_LATER;

    #[inline]
    fn receive_bounded(
        &mut self,
        message: T::Message,
        turn: &Turn<'_, T::Message>,
        use_up: impl FnOnce(),
    ) -> Flow {
        self.0.receive_bounded(message, turn, use_up)
    }

    const RECOVERS: bool = T::RECOVERS;
    const REPORTS: bool = T::REPORTS;
    const INTERNAL: bool = T::INTERNAL;

    fn recover(&mut self, message: &str, turn: &Turn<'_, T::Message>) -> Flow {
        self.0.recover(message, turn)
    }

    fn is_letter(message: &T::Message) -> bool {
        T::is_letter(message)
    }

    const MESSAGES: &'static [&'static str] = T::MESSAGES;

    fn message_kind(message: &T::Message) -> usize {
        T::message_kind(message)
    }

    fn name() -> &'static str {
        T::name()
    }

    fn label(&self) -> Option<String> {
        self.0.label()
    }
}
