//! Logistic map: series of x' = r x (1 - x). The actor that owns x asks another actor for the next
//! term, and waits for the answer.
//!
//! ```text
//!   Master  -- Next, 25,000 times, then Tell -->  Series 0 .. 9  -- Compute(x) -->  Computer with the rate of the series
//!           <------------------------- x -------                 <-- r x (1 - x) -
//! ```
//!
//! The master sends all requests at once. So most messages arrive at a series while it waits for a
//! reply. The series must not handle these messages before it has received the reply. The original
//! blocks a thread or stashes messages. Here a series is an [`AsyncActor`], whose messages wait
//! while its handler awaits.
//!
//! Series i starts at 0.0025 i and has the rate 3.46 + 0.0025 i.
//!
//! The run is correct if the last term of each series is exactly the last term that a plain loop
//! computes.

use std::mem;

use garrick::{Actor, Address, AsyncActor, AsyncContext, Context, Next, Reply};
use garrick_measure::{Contender, Effort, Measured, Result, Scenario};

use super::run::{Reports, agree, end, go_on, ours, run};

pub(super) const LOGISTIC_MAP: Scenario = Scenario {
    name: "savina-logistic-map",
    operation: "one term of a series: an async actor gets a request, asks another actor for the \
                term, and awaits it; there are 10 series at the same time",
    contenders,
};

/// The amount of work in one run of the benchmark.
#[derive(Clone, Copy)]
struct Size {
    /// Number of terms of each series.
    terms: u64,
    series: usize,
    /// Rate of the first series.
    rate: f64,
    /// Difference between the rates of two consecutive series. Their start values have the same
    /// difference.
    increment: f64,
}

const STANDARD: Size = Size {
    terms: 25_000,
    series: 10,
    rate: 3.46,
    increment: 0.0025,
};

const QUICK: Size = Size {
    terms: 1_000,
    ..STANDARD
};

fn contenders(effort: &Effort) -> Vec<Contender> {
    let size = effort.pick(STANDARD, QUICK);
    let params = [
        ("terms", size.terms.into()),
        ("series", size.series.into()),
        ("start_rate", size.rate.into()),
        ("increment", size.increment.into()),
    ];
    ours(&LOGISTIC_MAP, size, &params, logistic_map)
}

impl Size {
    fn first_term(&self, series: usize) -> f64 {
        series as f64 * self.increment
    }

    fn rate_of(&self, series: usize) -> f64 {
        self.rate + series as f64 * self.increment
    }
}

fn next_term(term: f64, rate: f64) -> f64 {
    rate * term * (1.0 - term)
}

/// Number of a series, and its last term.
type Last = (usize, f64);

/// An actor that requests the terms of all series.
struct Master {
    size: Size,
    series: Vec<Address<ToSeries>>,
    /// Last terms of the series that have reported so far.
    terms: Vec<Last>,
    reports: Reports<Vec<Last>>,
}

/// Messages that a [`Master`] handles.
enum ToMaster {
    /// Starts all series.
    Start,
    /// Passes the last term of the series with this number.
    Term(usize, f64),
}

/// An actor that stands for a series. Another actor computes the terms of the series.
struct Series {
    id: usize,
    term: f64,
    master: Address<ToMaster>,
    computer: Address<Compute>,
}

/// Messages that a [`Series`] handles.
enum ToSeries {
    /// Requests the computation of the next term.
    Next,
    /// Requests the last term, and stops the series.
    Tell,
}

/// An actor that computes terms, all with the same rate.
struct Computer {
    rate: f64,
}

/// Requests the term that follows the given term in the series.
struct Compute(f64, Reply<f64>);

impl Actor for Master {
    type Msg = ToMaster;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ToMaster>) -> Next {
        for id in 0..self.size.series {
            let rate = self.size.rate_of(id);
            self.series.push(cx.spawn(Series {
                id,
                term: self.size.first_term(id),
                master: cx.address(),
                computer: cx.spawn(Computer { rate }),
            }));
        }
        Next::Continue
    }

    fn receive(&mut self, message: ToMaster, cx: &mut Context<'_, ToMaster>) -> Next {
        match message {
            ToMaster::Start => {
                let send = |series: &Address<ToSeries>, message| cx.send(series, message).is_ok();
                let mut terms = 0..self.size.terms;
                let next = terms.all(|_| self.series.iter().all(|one| send(one, ToSeries::Next)));
                go_on(next && self.series.iter().all(|one| send(one, ToSeries::Tell)))
            }
            ToMaster::Term(id, term) => {
                self.terms.push((id, term));
                if self.terms.len() < self.size.series {
                    return Next::Continue;
                }
                self.reports.tell(mem::take(&mut self.terms));
                Next::Stop
            }
        }
    }
}

impl AsyncActor for Series {
    type Msg = ToSeries;
    type Outcome = Next;

    async fn receive(&mut self, message: ToSeries, cx: &mut AsyncContext<ToSeries>) -> Next {
        match message {
            ToSeries::Next => {
                let term = self.term;
                match self.computer.ask(|reply| Compute(term, reply)).await {
                    Ok(next) => self.term = next,
                    Err(none) => return cx.fail(none),
                }
                Next::Continue
            }
            ToSeries::Tell => {
                let told = ToMaster::Term(self.id, self.term);
                end(cx.send(&self.master, told).is_ok())
            }
        }
    }
}

impl Actor for Computer {
    type Msg = Compute;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, Compute(term, reply): Compute, _: &mut Context<'_, Compute>) {
        reply.send(next_term(term, self.rate));
    }
}

fn logistic_map(size: Size, workers: usize) -> Result<Measured> {
    let (ends, span) = run(workers, 1, |on, reports| {
        let master = on.spawn(Master {
            size,
            series: Vec::new(),
            terms: Vec::new(),
            reports: reports.clone(),
        })?;
        Ok(master.send(ToMaster::Start)?)
    })?;
    ends.iter().try_for_each(|ends| check(size, ends))?;
    Ok(Measured::new(size.terms * size.series as u64, span))
}

fn check(size: Size, terms: &[Last]) -> Result<()> {
    agree("series", terms.len(), size.series)?;
    for (id, term) in terms {
        let rate = size.rate_of(*id);
        let first = size.first_term(*id);
        let expected = (0..size.terms).fold(first, |term, _| next_term(term, rate));
        agree(format!("the last term of series {id}"), *term, expected)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::refused;
    use super::*;

    const TINY: Size = Size {
        terms: 60,
        series: 3,
        ..STANDARD
    };

    #[test]
    fn all_terms_are_computed() {
        for workers in [1, 2] {
            assert_eq!(logistic_map(TINY, workers).unwrap().ops, 180);
        }
    }

    #[test]
    fn a_series_that_is_missing_or_a_term_short_is_found() {
        let term = |id, terms| {
            let rate = TINY.rate_of(id);
            let first = TINY.first_term(id);
            (id, (0..terms).fold(first, |term, _| next_term(term, rate)))
        };
        let right = [term(0, 60), term(1, 60), term(2, 60)];
        assert!(check(TINY, &right).is_ok());
        assert_eq!(refused(check(TINY, &right[1..])), "series: 2, not 3");
        let short = [right[0], right[1], term(2, 59)];
        let said = refused(check(TINY, &short));
        assert!(said.starts_with("the last term of series 2: "), "{said}");
    }
}
