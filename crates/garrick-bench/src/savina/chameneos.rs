//! Chameneos: creatures that meet in pairs, in a mall with a single meeting place for which all
//! compete.
//!
//! ```text
//!   Creature A -- Meet(color, A) --> Mall: A waits
//!   Creature B -- Meet(color, B) --> Mall -- Meet(color, B) --> A: changes its color
//!   Creature B <-- Changed(color) ------------------------------ A
//!   both go to the mall again, until there were enough meetings, and the mall sends all home
//! ```
//!
//! When two creatures of the same color meet, they keep this color. When two creatures of different
//! colors meet, both take the third color. A creature that is sent home reports the number of its
//! meetings to the mall.
//!
//! The run is correct if the sum of the creatures' meetings is twice the number of meetings.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};

pub(super) const CHAMENEOS: Scenario = Scenario {
    name: "savina-chameneos",
    operation: "one meeting of two actors: each of them sends a message to a third actor, which \
                introduces one of them to the other, and the other answers: four messages",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    creatures: u64,
    /// Total number of meetings.
    meetings: u64,
}

const STANDARD: Size = Size {
    creatures: 100,
    meetings: 200_000,
};

const QUICK: Size = Size {
    meetings: 10_000,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("creatures", size.creatures.into()),
        ("meetings", size.meetings.into()),
    ];
    ours(&CHAMENEOS, size, &params, chameneos)
}

/// The color of a creature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Color {
    Red,
    Yellow,
    Blue,
    Faded,
}

impl Color {
    /// Initial colors of the creatures, which are assigned round-robin.
    const FIRST: [Self; 3] = [Self::Red, Self::Yellow, Self::Blue];

    /// Returns the color of both creatures after a meeting.
    fn after_meeting(self, other: Self) -> Self {
        match (self, other) {
            (Self::Faded, _) | (_, Self::Faded) => Self::Faded,
            (Self::Red, Self::Yellow) | (Self::Yellow, Self::Red) => Self::Blue,
            (Self::Red, Self::Blue) | (Self::Blue, Self::Red) => Self::Yellow,
            (Self::Yellow, Self::Blue) | (Self::Blue, Self::Yellow) => Self::Red,
            (same, _) => same,
        }
    }
}

/// The mall, an actor that arranges the meetings of the creatures.
struct Mall {
    size: Size,
    /// Number of meetings that have not taken place yet.
    left: u64,
    /// Creature that is waiting to meet another creature.
    waiting: Option<Address<ToCreature>>,
    /// Number of creatures that have gone home.
    faded: u64,
    /// Sum of the numbers of meetings that the creatures have reported.
    met: u64,
    reports: Reports<u64>,
}

/// Messages that a [`Mall`] handles.
enum ToMall {
    /// Reports that a creature wants to meet another creature. Contains the color and the address
    /// of the creature.
    Meet(Color, Address<ToCreature>),
    /// Reports the number of meetings of a creature that has gone home.
    Faded(u64),
}

/// An actor that meets other creatures. A creature asks the mall for each meeting.
struct Creature {
    mall: Address<ToMall>,
    color: Color,
    /// Number of meetings of this creature.
    met: u64,
}

/// Messages that a [`Creature`] handles.
enum ToCreature {
    /// Requests a meeting with another creature, which has this color and this address. The
    /// receiver of the request sends the new color to the other creature.
    Meet(Color, Address<ToCreature>),
    /// Reports the new color after a meeting.
    Changed(Color),
    /// Sends the creature home.
    Exit,
}

impl Actor for Mall {
    type Msg = ToMall;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToMall>) -> Next {
        for color in Color::FIRST
            .into_iter()
            .cycle()
            .take(self.size.creatures as usize)
        {
            cx.spawn(Creature {
                mall: cx.address(),
                color,
                met: 0,
            });
        }
        Next::Continue
    }

    fn receive(&mut self, message: ToMall, cx: &mut Context<'_, ToMall>) -> Next {
        match message {
            ToMall::Meet(_, creature) if self.left == 0 => {
                return go_on(cx.send(&creature, ToCreature::Exit).is_ok());
            }
            ToMall::Meet(color, creature) => match self.waiting.take() {
                None => self.waiting = Some(creature),
                Some(waiting) => {
                    self.left -= 1;
                    let meet = ToCreature::Meet(color, creature);
                    return go_on(cx.send(&waiting, meet).is_ok());
                }
            },
            ToMall::Faded(met) => {
                self.faded += 1;
                self.met += met;
                if self.faded == self.size.creatures {
                    self.reports.tell(self.met);
                    return Next::Stop;
                }
            }
        }
        Next::Continue
    }
}

impl Creature {
    /// Records a meeting, and sends the creature to the mall again.
    fn again(&mut self, color: Color, cx: &Context<'_, ToCreature>) -> Next {
        self.color = color;
        self.met += 1;
        self.go(cx)
    }

    fn go(&self, cx: &Context<'_, ToCreature>) -> Next {
        let meet = ToMall::Meet(self.color, cx.address());
        go_on(cx.send(&self.mall, meet).is_ok())
    }
}

impl Actor for Creature {
    type Msg = ToCreature;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToCreature>) -> Next {
        self.go(cx)
    }

    fn receive(&mut self, message: ToCreature, cx: &mut Context<'_, ToCreature>) -> Next {
        match message {
            ToCreature::Meet(color, other) => {
                let color = self.color.after_meeting(color);
                if cx.send(&other, ToCreature::Changed(color)).is_err() {
                    return Next::Fail;
                }
                self.again(color, cx)
            }
            ToCreature::Changed(color) => self.again(color, cx),
            ToCreature::Exit => {
                self.color = Color::Faded;
                end(cx.send(&self.mall, ToMall::Faded(self.met)).is_ok())
            }
        }
    }
}

fn chameneos(size: Size, workers: usize) -> Result<Measured> {
    let (met, span) = run(workers, 1, |on, reports| {
        on.spawn(Mall {
            size,
            left: size.meetings,
            waiting: None,
            faded: 0,
            met: 0,
            reports: reports.clone(),
        })?;
        Ok(())
    })?;
    check(size, &met)?;
    Ok(Measured::new(size.meetings, span))
}

fn check(size: Size, met: &[u64]) -> Result<()> {
    let expected = 2 * size.meetings;
    met.iter()
        .try_for_each(|met| agree("times that a creature has met another", *met, expected))
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    #[test]
    fn all_meetings_take_place() {
        for workers in [1, 2] {
            for (creatures, meetings) in [(2, 1), (3, 50), (10, 300)] {
                let size = Size {
                    creatures,
                    meetings,
                };
                assert_eq!(chameneos(size, workers).unwrap().ops, meetings);
            }
        }
    }

    #[test]
    fn a_meeting_that_only_one_had_is_found() {
        let said = refused(check(QUICK, &[19_999]));
        assert_eq!(
            said,
            "times that a creature has met another: 19999, not 20000"
        );
    }

    #[test]
    fn two_colors_make_the_third() {
        for one in Color::FIRST {
            assert_eq!(one.after_meeting(one), one);
            assert_eq!(one.after_meeting(Color::Faded), Color::Faded);
            assert_eq!(Color::Faded.after_meeting(one), Color::Faded);
            for other in Color::FIRST.into_iter().filter(|other| *other != one) {
                let third = one.after_meeting(other);
                assert_eq!(third, other.after_meeting(one));
                assert!(third != one && third != other && third != Color::Faded);
            }
        }
    }
}
