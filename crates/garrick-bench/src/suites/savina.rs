//! Suite of the micro and concurrency benchmarks of Savina, from [`crate::savina`].

use garrick_measure::Suite;

use crate::savina;

pub(super) const SAVINA: Suite = Suite {
    name: "savina",
    about: "Savina, a suite for actor libraries (Imam and Sarkar, AGERE 2014): its micro and concurrency benchmarks",
    scenarios: savina::SCENARIOS,
    ..Suite::PLAIN
};
