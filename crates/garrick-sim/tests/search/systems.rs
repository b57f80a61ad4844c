//! Small systems with planted bugs, and systems whose reactions are random.

use crate::mock::{OUTSIDE, Sends, System};

/// A system of senders and one receiver, the task 0. Each sender gets one message, and then sends
/// its number to the receiver, which appends the number to its state.
pub(crate) struct Senders(pub(crate) usize);

impl System for Senders {
    fn states(&self) -> Vec<i64> {
        vec![0; self.0 + 1]
    }

    fn first(&self) -> Sends {
        (1..=self.0).map(|task| (task, 0)).collect()
    }

    fn react(&self, task: usize, state: &mut i64, _: usize, message: i64) -> Sends {
        if task == 0 {
            *state = *state * 10 + message;
            return Vec::new();
        }
        vec![(0, task as i64)]
    }
}

const DEPOSIT: i64 = -1;
const GET: i64 = -2;

/// A system of tellers and one account, the task 0. Each teller reads the balance, adds 1, and
/// writes the new balance. An update is lost if two tellers read the same balance.
pub(crate) struct Bank(pub(crate) usize);

impl System for Bank {
    fn states(&self) -> Vec<i64> {
        vec![0; self.0 + 1]
    }

    fn first(&self) -> Sends {
        (1..=self.0).map(|task| (task, DEPOSIT)).collect()
    }

    fn react(&self, task: usize, state: &mut i64, from: usize, message: i64) -> Sends {
        match message {
            DEPOSIT => vec![(0, GET)],
            GET => vec![(from, *state)],
            _ if task == 0 => {
                *state = message;
                Vec::new()
            }
            balance => vec![(0, balance + 1)],
        }
    }
}

/// A system of several receivers. Each of them gets several messages from the outside, and nothing
/// else happens.
pub(crate) struct Streams {
    pub(crate) receivers: usize,
    pub(crate) messages: i64,
}

impl System for Streams {
    fn states(&self) -> Vec<i64> {
        vec![0; self.receivers]
    }

    fn first(&self) -> Sends {
        let each = |task| (0..self.messages).map(move |message| (task, message));
        (0..self.receivers).flat_map(each).collect()
    }

    fn react(&self, _: usize, state: &mut i64, _: usize, message: i64) -> Sends {
        assert_eq!(*state, message, "messages of a pair arrive in their order");
        *state += 1;
        Vec::new()
    }
}

/// Tasks 1 and 2 each send a number of messages to task 0, which does nothing.
pub(crate) struct Rivals(pub(crate) i64);

impl System for Rivals {
    fn states(&self) -> Vec<i64> {
        vec![0; 3]
    }

    fn first(&self) -> Sends {
        vec![(1, 0), (2, 0)]
    }

    fn react(&self, task: usize, _: &mut i64, _: usize, _: i64) -> Sends {
        if task == 0 {
            return Vec::new();
        }
        (0..self.0).map(|message| (0, message)).collect()
    }
}

/// Task 1 sends a number of messages to itself, one after another, and then one message to task 0.
/// Task 0 also gets a message from the outside. If the message from the outside arrives last, the
/// state of task 0 becomes -1.
pub(crate) struct Long(pub(crate) i64);

impl System for Long {
    fn states(&self) -> Vec<i64> {
        vec![0; 2]
    }

    fn first(&self) -> Sends {
        vec![(0, 0), (1, self.0)]
    }

    fn react(&self, task: usize, state: &mut i64, from: usize, message: i64) -> Sends {
        match (task, message) {
            (1, 0) => vec![(0, 0)],
            (1, left) => vec![(1, left - 1)],
            _ => {
                let is_last = from == OUTSIDE && *state == 1;
                *state = if is_last { -1 } else { *state + 1 };
                Vec::new()
            }
        }
    }
}

/// One task gets a number of messages, and the clock advances once.
pub(crate) struct Ticking(pub(crate) i64);

impl System for Ticking {
    fn states(&self) -> Vec<i64> {
        vec![0]
    }

    fn first(&self) -> Sends {
        (0..self.0).map(|message| (0, message)).collect()
    }

    fn react(&self, _: usize, _: &mut i64, _: usize, _: i64) -> Sends {
        Vec::new()
    }

    fn ticks(&self) -> usize {
        1
    }
}

/// A reaction: the new state of the task, and what it sends.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) state: i64,
    pub(crate) sends: Vec<(usize, i64)>,
}

/// Number of states that a task can have in a random system. It is also the number of different
/// messages.
pub(crate) const KINDS: usize = 3;

/// Tasks with random reactions. Each message contains the number of further messages to which it
/// may lead, so every run ends.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    pub(crate) tasks: usize,
    pub(crate) hops: i64,
    /// Reactions by task, state and message.
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) first: Vec<(usize, i64)>,
    pub(crate) ticks: usize,
}

/// Number of reactions of a random system. This number is enough for four tasks.
pub(crate) const REACTIONS: usize = 4 * KINDS * KINDS;

/// Place of a reaction, its new state, and what it sends.
type Listed<'a> = (usize, i64, &'a [(usize, i64)]);

/// Makes a table of reactions. Reactions that are not listed do nothing.
pub(crate) fn sparse(listed: &[Listed<'_>]) -> Vec<Reaction> {
    let nothing = Reaction {
        state: 0,
        sends: Vec::new(),
    };
    let mut reactions = vec![nothing; REACTIONS];
    for &(place, state, sends) in listed {
        let sends = sends.to_vec();
        reactions[place] = Reaction { state, sends };
    }
    reactions
}

impl System for Random {
    fn states(&self) -> Vec<i64> {
        vec![0; self.tasks]
    }

    fn first(&self) -> Sends {
        let kind = |&(task, kind): &(usize, i64)| (task % self.tasks, kind + 10 * self.hops);
        self.first.iter().map(kind).collect()
    }

    fn react(&self, task: usize, state: &mut i64, from: usize, message: i64) -> Sends {
        let (hops, kind) = (message / 10, message % 10);
        let shift = if from == OUTSIDE { 0 } else { from };
        let kind = (kind as usize + shift) % KINDS;
        let place = (task * KINDS + *state as usize) * KINDS + kind;
        let reaction = &self.reactions[place % self.reactions.len()];
        *state = reaction.state;
        if hops == 0 {
            return Vec::new();
        }
        let send = |&(to, kind): &(usize, i64)| (to % self.tasks, kind + 10 * (hops - 1));
        reaction.sends.iter().map(send).collect()
    }

    fn ticks(&self) -> usize {
        self.ticks
    }

    fn tick(&self, task: usize, state: &mut i64) {
        *state = (*state + task as i64 + 1) % KINDS as i64;
    }
}
