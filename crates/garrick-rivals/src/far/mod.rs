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

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use garrick_measure::commands::{Ended, Subcommand, print};
use garrick_measure::{Result, Stop, provenance};

use contender::{CONTENDERS, Contender, Server};

pub(crate) use contender::child;

/// The subcommand `far`, which compares messages between two nodes.
pub(super) const FAR: Subcommand = Subcommand { command, run };

const QUICK: &str = "quick";
const ONLY: &str = "only";
const ROUNDS: &str = "rounds";
const JSON: &str = "json";

fn command() -> Command {
    let names = CONTENDERS.iter().map(|contender| contender.name);
    let flag = |name| Arg::new(name).long(name).action(ArgAction::SetTrue);
    Command::new("far")
        .about(
            "Messages between two nodes, compared with NATS and TCP by hand, ractor_cluster and \
             Pekko",
        )
        .arg(flag(QUICK).help("Run one short round"))
        .arg(
            Arg::new(ONLY)
                .long(ONLY)
                .value_name("CONTENDERS")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(names))
                .help("Run only these contenders, separated by commas"),
        )
        .arg(
            Arg::new(ROUNDS)
                .long(ROUNDS)
                .value_name("COUNT")
                .value_parser(value_parser!(u16).range(1..))
                .help("Number of rounds. Default: 9, or 1 with --quick"),
        )
        .arg(
            Arg::new(JSON)
                .long(JSON)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the results to this file as JSON, in addition to the tables"),
        )
}

fn run(matches: &ArgMatches) -> Result<Ended> {
    let contenders = chosen(matches);
    let json = matches.get_one::<PathBuf>(JSON);
    let program = match check(&contenders, json.map(PathBuf::as_path)) {
        Ok(program) => program,
        Err(why) => return Ok(Ended::Refused(why)),
    };
    let server = program.map(|program| Server::start(&program)).transpose()?;
    let mut sizes = match matches.get_flag(QUICK) {
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
    let only = matches.get_many::<String>(ONLY);
    let only: Option<Vec<&String>> = only.map(Iterator::collect);
    let is_chosen = |contender: &&Contender| {
        let is_named = |only: &Vec<&String>| only.iter().any(|name| *name == contender.name);
        only.as_ref().is_none_or(is_named)
    };
    CONTENDERS.iter().filter(is_chosen).collect()
}

/// Checks the requirements of the study, so that errors are found before a run that takes minutes.
/// Returns the program of the NATS server, if a contender needs it.
fn check(
    contenders: &[&Contender],
    json: Option<&Path>,
) -> std::result::Result<Option<PathBuf>, String> {
    if let Some(file) = json {
        let opened = OpenOptions::new().append(true).create(true).open(file);
        opened.map_err(|error| format!("cannot write to '{}': {error}", file.display()))?;
    }
    if !contenders.iter().any(|contender| contender.needs_server) {
        return Ok(None);
    }
    server::find()
        .map(Some)
        .ok_or_else(|| server::MISSING.to_owned())
}
