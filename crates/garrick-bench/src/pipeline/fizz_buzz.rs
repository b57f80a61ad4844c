//! The work of the pipeline: what a number is called, and how often.

/// What a number is called: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// A multiple of 3.
    Fizz,
    /// A multiple of 5.
    Buzz,
    /// A multiple of both.
    FizzBuzz,
    /// Any other number.
    Value(u64),
}

/// How many numbers it takes until all begins anew.
const CYCLE: u64 = 15;

/// Calls numbers by their names, and is fast where they follow one another: it keeps the remainder of
/// the next one, so that only a number out of turn costs a division.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// The number that is in turn.
    next: u64,
    /// Its remainder by `CYCLE`.
    phase: u64,
}

impl Caller {
    /// What `number` is called.
    #[inline(always)]
    pub(crate) fn call(&mut self, number: u64) -> Message {
        // After the largest number comes 0, but not its remainder.
        if number != self.next || number == 0 {
            self.phase = number % CYCLE;
        }
        let message = match self.phase {
            0 => Message::FizzBuzz,
            3 | 6 | 9 | 12 => Message::Fizz,
            5 | 10 => Message::Buzz,
            _ => Message::Value(number),
        };
        self.next = number.wrapping_add(1);
        self.phase = if self.phase == CYCLE - 1 {
            0
        } else {
            self.phase + 1
        };
        message
    }
}

/// How many messages there were of each kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Of [`Message::Fizz`].
    pub(crate) fizz: u64,
    /// Of [`Message::Buzz`].
    pub(crate) buzz: u64,
    /// Of [`Message::FizzBuzz`].
    pub(crate) fizz_buzz: u64,
    /// Of [`Message::Value`].
    pub(crate) value: u64,
}

impl Counts {
    /// Counts `messages` in.
    #[inline]
    pub(crate) fn add(&mut self, messages: &[Message]) {
        // Sums of comparisons, which need no branches; what is left over are the plain values.
        let (mut fizz, mut buzz, mut fizz_buzz) = (0, 0, 0);
        for message in messages {
            fizz += u64::from(matches!(message, Message::Fizz));
            buzz += u64::from(matches!(message, Message::Buzz));
            fizz_buzz += u64::from(matches!(message, Message::FizzBuzz));
        }
        self.fizz += fizz;
        self.buzz += buzz;
        self.fizz_buzz += fizz_buzz;
        self.value += messages.len() as u64 - (fizz + buzz + fizz_buzz);
    }

    /// How many messages there were.
    pub(crate) fn total(&self) -> u64 {
        self.fizz + self.buzz + self.fizz_buzz + self.value
    }
}
