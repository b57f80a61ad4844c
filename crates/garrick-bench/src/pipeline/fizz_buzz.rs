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

/// What a number is called, without the number.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Fizz,
    Buzz,
    FizzBuzz,
    Value,
}

/// How many numbers it takes until all begins anew.
const CYCLE: u64 = 15;

/// `(2^64 - 1) / 15`, which is whole.
const FIFTEENTH: u64 = u64::MAX / CYCLE;

/// What the numbers of a cycle are called, and the first of the next.
const KINDS: [Kind; 16] = {
    let mut kinds = [Kind::Value; 16];
    let mut number = 0;
    while number < kinds.len() {
        kinds[number] = match (number % 3, number % 5) {
            (0, 0) => Kind::FizzBuzz,
            (0, _) => Kind::Fizz,
            (_, 0) => Kind::Buzz,
            _ => Kind::Value,
        };
        number += 1;
    }
    kinds
};

impl Message {
    /// What `number` is called: a multiplication, and a look at a table. For numbers below 2^60, which is as far as one counts
    /// in 36 years at a billion a second; from there on the name may be another number's.
    ///
    /// The product of `15 q + r` and `FIFTEENTH` is, modulo 2^64, `r 2^60 + (r 2^60 - number) / 15`. Below 2^60 the four upper
    /// bits of that are `r`, or 15 for multiples of 15 but 0. What would make it right for all numbers, three instructions of
    /// eleven, takes a sixth of a pipeline's time.
    #[inline(always)]
    pub fn of(number: u64) -> Self {
        debug_assert!(number < 1 << 60, "{number} is too large to be named");
        let place = number.wrapping_mul(FIFTEENTH) >> 60;
        match KINDS[place as usize] {
            Kind::Fizz => Self::Fizz,
            Kind::Buzz => Self::Buzz,
            Kind::FizzBuzz => Self::FizzBuzz,
            Kind::Value => Self::Value(number),
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
            let sum = sum_of_fields(run);
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

/// One sum of the fields of all: no branches, and no overflow in a run.
///
/// Four at a time, which is left to no compiler: with one at a time a message takes twice as long. Not inlined, for the same
/// registers wherever it is called.
#[inline(never)]
fn sum_of_fields(run: &[Message]) -> u64 {
    let (fours, rest) = run.as_chunks::<4>();
    let of_four = |[a, b, c, d]: &[Message; 4]| a.field() + b.field() + c.field() + d.field();
    let of_rest = rest.iter().map(Message::field).sum::<u64>();
    fours.iter().map(of_four).sum::<u64>() + of_rest
}
