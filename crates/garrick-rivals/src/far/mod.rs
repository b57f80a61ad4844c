//! Messages between two nodes, each in its own process: Garrick over NATS, the NATS client and TCP
//! by hand, `ractor_cluster`, and Pekko Artery on the Java virtual machine.
//!
//! Each contender has two processes, which run through the whole study. In each round, all
//! contenders do each work in turn. The receiving node counts the messages, and the sending node
//! waits until it has confirmed them. Both report their CPU time.

mod order;

mod child;

mod near;
mod server;

mod peers;

mod contender;

mod rounds;

mod table;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use garrick_measure::commands::{Ended, Subcommand, print};
use garrick_measure::{Result, Stop, provenance};

use crate::study;
use contender::{CONTENDERS, Contender, Server};

pub(crate) use contender::child;

/// The subcommand `far`, which compares messages between two nodes.
pub(super) const FAR: Subcommand = Subcommand { command, run };

const ROUNDS: &str = "rounds";

fn command() -> Command {
    let names = CONTENDERS.iter().map(|contender| contender.name);
    Command::new("far")
        .about(
            "Messages between two nodes, compared with NATS and TCP by hand, ractor_cluster and \
             Pekko",
        )
        .arg(study::quick())
        .arg(study::only(names))
        .arg(
            Arg::new(ROUNDS)
                .long(ROUNDS)
                .value_name("COUNT")
                .value_parser(value_parser!(u16).range(1..))
                .help("Number of rounds. Default: 9, or 1 with --quick"),
        )
        .arg(study::json("tables"))
}

fn run(matches: &ArgMatches) -> Result<Ended> {
    let contenders = chosen(matches);
    let json = matches.get_one::<PathBuf>(study::JSON);
    let program = match check(&contenders, json.map(PathBuf::as_path)) {
        Ok(program) => program,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    let server = program.map(|program| Server::start(&program)).transpose()?;
    let mut sizes = match matches.get_flag(study::QUICK) {
        true => rounds::QUICK,
        false => rounds::FULL,
    };
    if let Some(rounds) = matches.get_one::<u16>(ROUNDS) {
        sizes.rounds = (*rounds).into();
    }
    let study = rounds::Study {
        contenders: &contenders,
        sizes,
        server: server.as_ref().map_or("", |server| &server.address),
    };
    let stop = Stop::on_ctrl_c()?;
    let results = study.measure(&stop, |told| eprintln!("{told}"));
    if let Some(file) = json {
        fs::write(file, table::json(&results))?;
    }
    print(&format!(
        "Messages between two processes, {} rounds; medians.\n\n{}\n\n{}",
        sizes.rounds,
        table::text(&results),
        provenance()
    ));
    if stop.is_wanted() {
        let kept = "the tables contain what was measured so far";
        return Ok(Ended::Interrupted(kept.to_owned()));
    }
    Ok(match results.failed.len() {
        0 => Ended::Well,
        failed => Ended::Wrong(format!(
            "{failed} measurements failed, which are named above"
        )),
    })
}

/// Returns the requested contenders, in the order of the table. If none are requested, returns all
/// contenders.
fn chosen(matches: &ArgMatches) -> Vec<&'static Contender> {
    let is_chosen = |contender: &&Contender| study::is_chosen(matches, contender.name);
    CONTENDERS.iter().filter(is_chosen).collect()
}

/// Checks the requirements of the study, so that errors are found before a run that takes minutes.
/// Returns the program of the NATS server, if a contender needs it.
fn check(
    contenders: &[&Contender],
    json: Option<&Path>,
) -> std::result::Result<Option<PathBuf>, String> {
    json.map_or(Ok(()), study::check_json)?;
    if !contenders.iter().any(|contender| contender.needs_server) {
        return Ok(None);
    }
    server::find()
        .map(Some)
        .ok_or_else(|| server::MISSING.to_owned())
}
