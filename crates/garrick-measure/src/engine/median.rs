//! The actor that converts the measurements of each contender into one row.

use garrick_actor::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::noise::{self, Noise};
use crate::row::Row;
use crate::scenario::Measured;
use crate::statistics::{Summary, outliers, ratio};

use super::normaliser::Normal;
use super::step::{Entrant, Set};

/// An actor that summarizes the measurements of each contender in a set.
pub(super) struct Median {
    /// Actor that receives the rows.
    normaliser: Address<Vec<Normal>>,
}

/// A set of contenders with their measurements. Some measurements may be missing.
pub(super) struct Finished {
    pub(super) set: Set,
    /// Activity of other programs and of the host during the measurement. `None` if it is unknown.
    pub(super) noise: Option<Noise>,
}

impl Median {
    pub(super) fn new(normaliser: Address<Vec<Normal>>) -> Self {
        Self { normaliser }
    }
}

impl Actor for Median {
    type Msg = Finished;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, finished: Finished, cx: &mut Context<'_, Finished>) -> Next {
        let Finished { set, noise } = finished;
        let doubts = noise::doubts(noise, &set.yardsticks);
        let measured = set
            .entrants
            .into_iter()
            .filter(|entrant| !entrant.samples.is_empty());
        let rows = measured.map(|entrant| summed_up(&set.scenario, entrant, &doubts));
        sent(&cx.send(&self.normaliser, rows.collect()))
    }
}

fn summed_up(scenario: &str, entrant: Entrant, doubts: &[String]) -> Normal {
    let each = |f: fn(&Measured) -> f64| -> Vec<f64> {
        let samples = entrant.samples.iter();
        samples.map(|(measured, _)| f(measured)).collect()
    };
    let times = each(Measured::cpu_per_op);
    let cpu = Summary::of(times.iter().copied());
    let wall = Summary::of(each(Measured::wall_per_op));
    let samples = entrant.samples.iter();
    let to_rmw = Summary::of(samples.map(|(measured, rmw)| ratio(measured.cpu_per_op(), *rmw)));
    let bytes = entrant.samples.iter();
    let bytes: Vec<f64> = bytes
        .filter_map(|(measured, _)| measured.bytes_per_actor)
        .collect();
    let row = Row {
        scenario: scenario.to_owned(),
        contender: entrant.name.to_owned(),
        unit: "ns".to_owned(),
        cpu,
        wall,
        ops_per_s: ratio(1e9, wall.median).round(),
        bytes_per_actor: (!bytes.is_empty()).then(|| Summary::of(bytes).median),
        ratio_to_rmw: to_rmw.median,
        to_rmw: Some(to_rmw),
        to_reference: None,
        rounds: entrant.samples.len(),
        outliers: outliers(&times),
        doubts: doubts.iter().cloned().chain(noise::spread(&cpu)).collect(),
        params: entrant.params,
    };
    Normal { row, times }
}
