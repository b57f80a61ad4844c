//! The pipeline's stages, compared with plain loops over the same ring buffers.

use std::sync::atomic::AtomicBool;

use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};

use crate::pipeline::{Config, Mode, Totals, hand_written, run};

pub(super) const PIPELINE: Scenario = Scenario {
    name: "pipeline",
    operation: "one message through the whole FizzBuzz pipeline: a number is generated, converted \
                into its name, and counted; hand-written does the same work in plain loops over \
                the same rings; with cores=1 everything runs on one thread, with cores=2 the \
                counting runs on a second thread",
    contenders,
};

/// Modes of the pipeline's worker, each with its name on the command line.
const MODES: [(&str, Mode); 2] = [
    ("zero-copy", Mode::ZeroCopy),
    ("double-buffer", Mode::DoubleBuffer),
];

/// Number of slots of each channel. A larger number would not be much faster.
const CAPACITY: usize = 1 << 16;

/// Time between two heartbeats, in milliseconds.
const RATE_MS: u64 = 2;

/// Flag that is never set, because a run stops at its time limit.
static NEVER: AtomicBool = AtomicBool::new(false);

fn contenders(effort: &Effort) -> Vec<Contender> {
    let mut contenders = Vec::new();
    for (name, mode) in MODES {
        for cores in [1, 2] {
            let config = config(mode, cores, effort.slice_s());
            let by_hand = config.clone();
            let both = [
                Contender::fixed("garrick", move || measure(&config, stages)),
                Contender::fixed("hand-written", move || measure(&by_hand, by_loops)),
            ];
            let with_params = |contender: Contender| {
                contender
                    .with("mode", name)
                    .with("cores", cores)
                    .with("capacity", CAPACITY)
            };
            contenders.extend(both.map(with_params));
        }
    }
    contenders
}

fn config(mode: Mode, cores: usize, seconds: f64) -> Config<'static> {
    Config {
        rate_ms: RATE_MS,
        beats: u64::MAX,
        mode,
        capacity: CAPACITY,
        seconds: Some(seconds),
        one_core: cores == 1,
        stop: &NEVER,
    }
}

fn stages(config: &Config<'_>) -> Result<Totals> {
    Ok(run(config, |_| (), |_| ())?.totals)
}

fn by_loops(config: &Config<'_>) -> Result<Totals> {
    Ok(hand_written(config))
}

fn measure(config: &Config<'_>, pipeline: fn(&Config<'_>) -> Result<Totals>) -> Result<Measured> {
    let watch = Stopwatch::start(Clock::Process);
    let totals = pipeline(config)?;
    let span = watch.stop();
    assert!(totals.agree(), "all stages count the same: {totals:?}");
    // The run may end before the first message has passed.
    Ok(Measured::new(totals.counts.total().max(1), span))
}
