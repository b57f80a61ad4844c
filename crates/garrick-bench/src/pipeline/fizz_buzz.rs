//! The work of the pipeline: what a number is called, and how often.

/// What a number is called: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
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

/// What the numbers of a cycle are called, two bits for each, the first lowest: the place of its kind among
/// those of [`Message`].
const KINDS: u64 = {
    let (mut kinds, mut number) = (0, 0);
    while number < CYCLE {
        let kind = match (number % 3, number % 5) {
            (0, 0) => 2,
            (0, _) => 0,
            (_, 0) => 1,
            _ => 3,
        };
        kinds |= kind << (2 * number);
        number += 1;
    }
    kinds
};

impl Message {
    /// What `number` is called. There is no branch in it: the remainder is a multiplication, the kind two
    /// bits of a word, and these are what a message begins with.
    #[inline(always)]
    pub fn of(number: u64) -> Self {
        match KINDS >> (2 * (number % CYCLE)) & 3 {
            0 => Self::Fizz,
            1 => Self::Buzz,
            2 => Self::FizzBuzz,
            _ => Self::Value(number),
        }
    }

    /// A 1 in the field of its kind.
    #[inline(always)]
    fn field(&self) -> u64 {
        match self {
            Self::Fizz => 1,
            Self::Buzz => 1 << FIELD_BITS,
            Self::FizzBuzz => 1 << (2 * FIELD_BITS),
            Self::Value(_) => 1 << (3 * FIELD_BITS),
        }
    }
}

/// The bits of a field in a sum of all kinds.
const FIELD_BITS: u32 = 16;
/// Messages that no field overflows with.
const RUN_MAX: usize = u16::MAX as usize;

/// How many messages there were of each kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Of [`Message::Fizz`].
    pub fizz: u64,
    /// Of [`Message::Buzz`].
    pub buzz: u64,
    /// Of [`Message::FizzBuzz`].
    pub fizz_buzz: u64,
    /// Of [`Message::Value`].
    pub value: u64,
}

impl Counts {
    /// Counts `messages` in.
    #[inline]
    pub fn add(&mut self, messages: &[Message]) {
        for run in messages.chunks(RUN_MAX) {
            // One sum of four fields, which need no branches and do not overflow.
            let sum: u64 = run.iter().map(Message::field).sum();
            let field = |index: u32| sum >> (FIELD_BITS * index) & u64::from(u16::MAX);
            self.fizz += field(0);
            self.buzz += field(1);
            self.fizz_buzz += field(2);
            self.value += field(3);
        }
    }

    /// How many messages there were.
    pub fn total(&self) -> u64 {
        self.fizz + self.buzz + self.fizz_buzz + self.value
    }
}
