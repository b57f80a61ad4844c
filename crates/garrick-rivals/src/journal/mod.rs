//! Durable commands per second, compared with the raw disk: Garrick's durable actors, hand-written
//! entities on storage engines, and persistent actors on the Java virtual machine.
//!
//! Each entity counts its commands, and has one command in progress. A command is answered when its
//! event of 128 bytes is durable. Each contender runs in its own process. Before and after each
//! run, one thread repeatedly writes 4 KiB and syncs. After a run, the files are opened again, and
//! the events are counted.
//!
//! The flag `--strace` runs each contender once more under `strace`, and counts the system calls by
//! which the process requests a sync.

mod run;

mod disk;
mod strace;

mod engines;

mod garrick;
mod hand;

mod contender;

mod rounds;

mod table;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use garrick_measure::commands::{Ended, Subcommand, print};
use garrick_measure::{Result, Stop, provenance};

use crate::study;
use contender::{CONTENDERS, Contender};

pub(crate) use contender::child;

/// The subcommand `journal`, which measures durable commands per second.
pub(super) const JOURNAL: Subcommand = Subcommand { command, run };

const FOLDER: &str = "folder";
const STRACE: &str = "strace";

fn command() -> Command {
    let names = CONTENDERS.iter().map(|contender| contender.name);
    Command::new("journal")
        .about(
            "Durable commands per second beside the raw disk, compared with storage engines, \
             Pekko and Cajun",
        )
        .arg(study::quick())
        .arg(study::only(names))
        .arg(
            Arg::new(FOLDER)
                .long(FOLDER)
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Existing folder on the disk to measure. Default: the folder for temporary files"),
        )
        .arg(
            Arg::new(STRACE)
                .long(STRACE)
                .action(ArgAction::SetTrue)
                .help("Run each contender once more under strace, and count its syncs"),
        )
        .arg(study::json("table"))
}

fn run(matches: &ArgMatches) -> Result<Ended> {
    let folder = matches.get_one::<PathBuf>(FOLDER).cloned();
    let folder = folder.unwrap_or_else(env::temp_dir);
    let json = matches.get_one::<PathBuf>(study::JSON);
    let traces = matches.get_flag(STRACE);
    if let Err(why) = check(&folder, json.map(PathBuf::as_path), traces) {
        return Ok(Ended::Refused(why));
    }
    let quick = matches.get_flag(study::QUICK);
    let study = rounds::Study {
        contenders: &chosen(matches),
        sizes: if quick { rounds::QUICK } else { rounds::FULL },
        folder: &folder,
        traces,
    };
    let stop = Stop::on_ctrl_c()?;
    let results = study.measure(&stop, |told| eprintln!("{told}"))?;
    let (shown, file_system) = (folder.display().to_string(), disk::file_system(&folder));
    if let Some(file) = json {
        fs::write(file, table::json(&results, &shown, &file_system))?;
    }
    print(&format!(
        "Durable commands, events of {} bytes, {} rounds; medians. Files in {shown}, {file_system}\
         {}\n\n{}\n\n{}",
        run::PAYLOAD,
        study.sizes.rounds,
        if file_system == "tmpfs" {
            ", on which a sync does nothing"
        } else {
            ""
        },
        table::text(&results),
        provenance()
    ));
    if stop.is_wanted() {
        let kept = "the table contains what was measured so far";
        return Ok(Ended::Interrupted(kept.to_owned()));
    }
    Ok(match results.failed.len() {
        0 => Ended::Well,
        failed => Ended::Wrong(format!("{failed} runs failed, which are named above")),
    })
}

/// Returns the requested contenders, in the order of the table. If none are requested, returns all
/// contenders.
fn chosen(matches: &ArgMatches) -> Vec<&'static Contender> {
    let is_chosen = |contender: &&Contender| study::is_chosen(matches, contender.name);
    CONTENDERS.iter().filter(is_chosen).collect()
}

/// Checks the requirements of the study, so that errors are found before a run that takes minutes.
fn check(folder: &Path, json: Option<&Path>, traces: bool) -> std::result::Result<(), String> {
    if !folder.is_dir() {
        return Err(format!(
            "--folder needs a folder that exists, and '{}' is none",
            folder.display()
        ));
    }
    let place = disk::Place::new(folder);
    place.map_err(|error| study::unwritable(folder, &error))?;
    json.map_or(Ok(()), study::check_json)?;
    if traces {
        strace::check()?;
    }
    Ok(())
}
