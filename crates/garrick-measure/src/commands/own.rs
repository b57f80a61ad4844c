//! A command that measures a user's experiment.

use clap::Args;

use super::flags::seconds;
use super::outputs::Outputs;
use super::progress::Bar;
use super::{Ended, console};
use crate::experiment::Experiment;
use crate::scenario::Result;
use crate::stop::Stop;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Approximate time to measure each row, in seconds.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds_per: Option<f64>,

    #[command(flatten)]
    outputs: Outputs,
}

/// Measures the experiment and prints the results.
pub(super) fn run(arguments: &Arguments, mut experiment: Experiment) -> Result<Ended> {
    if let Some(seconds) = arguments.seconds_per {
        experiment = experiment.seconds_per_row(seconds);
    }
    let stop = Stop::on_ctrl_c()?;
    let before = match experiment.check().and_then(|()| arguments.outputs.check()) {
        Ok(before) => before,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    let title = experiment.name().to_owned();
    console::print(&format!("{title}: {}\n", experiment.operation()));
    let bar = Bar::new(experiment.points().len());
    let report = experiment
        .stop(&stop)
        .run_with(&mut |step| bar.show(step))?;
    bar.clear();
    arguments
        .outputs
        .finish(&title, &report, before.as_ref(), &stop)
}
