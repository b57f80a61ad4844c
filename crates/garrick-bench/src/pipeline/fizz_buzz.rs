//! The work of the pipeline: converting numbers into names, and counting the names.

/// The FizzBuzz name of a number, in 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The name of a number that is divisible by 3 but not by 5.
    Fizz,
    /// The name of a number that is divisible by 5 but not by 3.
    Buzz,
    /// The name of a number that is divisible by both 3 and 5.
    FizzBuzz,
    /// The name of any other number: the number itself.
    Value(u64),
}

/// The kind of a FizzBuzz name: a [`Message`] without its number.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Fizz,
    Buzz,
    FizzBuzz,
    Value,
}

/// Length of the cycle in which the kinds of FizzBuzz names repeat.
const CYCLE: u64 = 15;

/// `(2^64 - 1) / 15`, which is an integer. The product of a number below 2^60 and this factor,
/// modulo 2^64, contains the number's remainder modulo 15 in its four upper bits. For multiples of
/// 15 except 0, these bits are 15 instead of 0.
const FIFTEENTH: u64 = u64::MAX / CYCLE;

/// Kinds of the FizzBuzz names of the numbers from 0 to 15: one whole cycle, and the first number
/// of the next cycle.
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
    /// Returns the FizzBuzz name of `number`, using one multiplication and one table lookup.
    ///
    /// The result is correct for numbers below 2^60. At a billion numbers per second, counting to
    /// 2^60 takes 36 years. For larger numbers, the function panics if debug assertions are
    /// enabled, and otherwise may return a wrong name. A function that is correct for all numbers
    /// would take eleven instructions instead of eight, and a pipeline would take a sixth longer.
    #[inline(always)]
    pub fn of(number: u64) -> Self {
        debug_assert!(number < 1 << 60, "{number} is too large to be named");
        // Modulo 2^64, the product of `number = 15 q + r` and `FIFTEENTH` is `r 2^60 + (r 2^60 -
        // number) / 15`. If `number` is below 2^60, the four upper bits of that product are `r`, or
        // 15 for multiples of 15 except 0.
        let place = number.wrapping_mul(FIFTEENTH) >> 60;
        match KINDS[place as usize] {
            Kind::Fizz => Self::Fizz,
            Kind::Buzz => Self::Buzz,
            Kind::FizzBuzz => Self::FizzBuzz,
            Kind::Value => Self::Value(number),
        }
    }

    /// Returns a word with four bit fields, one for each kind of message. The field of this
    /// message's kind contains 1, and the other fields contain 0.
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

/// Number of bits in each bit field of a word. Each field counts the messages of one kind.
const FIELD_BITS: u32 = 16;
/// Maximum number of messages that are counted together in one word. With more messages, a bit
/// field of the word could overflow.
const RUN_MAX: usize = u16::MAX as usize;

/// The number of messages of each kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Number of [`Message::Fizz`] messages.
    pub fizz: u64,
    /// Number of [`Message::Buzz`] messages.
    pub buzz: u64,
    /// Number of [`Message::FizzBuzz`] messages.
    pub fizz_buzz: u64,
    /// Number of [`Message::Value`] messages.
    pub value: u64,
}

impl Counts {
    /// Adds `messages` to the counts.
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

    /// Returns the total number of messages of all kinds.
    pub fn total(&self) -> u64 {
        self.fizz + self.buzz + self.fizz_buzz + self.value
    }
}

/// Returns a word whose bit fields contain the number of messages of each kind. The word is
/// computed without branches. No field overflows if `run` has at most [`RUN_MAX`] messages.
///
/// The loop is unrolled by four by hand, because a loop over single messages takes twice as long.
/// The function is not inlined, so that the compiler assigns the same registers for every caller.
#[inline(never)]
fn sum_of_fields(run: &[Message]) -> u64 {
    let (fours, rest) = run.as_chunks::<4>();
    let of_four = |[a, b, c, d]: &[Message; 4]| a.field() + b.field() + c.field() + d.field();
    let of_rest = rest.iter().map(Message::field).sum::<u64>();
    fours.iter().map(of_four).sum::<u64>() + of_rest
}
