//! A scenario that measures the yardstick: one uncontended atomic addition.

use garrick_measure::{Contender, Effort, Scenario, yardstick};

pub(super) const RMW: Scenario = Scenario {
    name: "rmw",
    operation: "one atomic fetch_add on a counter that no other thread uses: the yardstick of the \
                other rows",
    contenders,
};

fn contenders(_: &Effort) -> Vec<Contender> {
    vec![Contender::fitted("atomic", |ops| {
        Ok(yardstick::measure(ops))
    })]
}
