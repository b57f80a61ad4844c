//! A pipeline that reads a large CSV file with sales, parses its lines in several stages at the
//! same time, and adds up the sales of each region. Invalid lines are written to a separate file.
//! The README shows how to run the program.
#![forbid(unsafe_code)]

mod sale;

mod file;
mod sums;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use garrick::flow::{Graph, Slots, stages};

use sale::{Sale, Wrong};
use sums::Sums;

/// Number of lines in a block. The next constant is the number of blocks in a channel.
const BLOCK: usize = 1_000;
const BLOCKS: usize = 16;

/// Creates a CSV file with sales, and adds up the sales of each region.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    all: All,
}

#[derive(Args)]
struct All {
    /// Folder of the files.
    #[arg(long, default_value = "sales", global = true)]
    folder: PathBuf,
    /// Number of lines, if the file is created.
    #[arg(long, default_value_t = 1_000_000, global = true)]
    lines: u64,
    /// Number of stages that parse lines.
    #[arg(long, default_value_t = 2, global = true, value_parser = clap::value_parser!(u8).range(1..=64))]
    parsers: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Create the file, but do not add up its sales.
    Make,
    /// Add up the sales of the existing file.
    Sum,
}

/// A block of lines of the file, including newlines, with the line number of the first one.
struct Lines {
    first: u64,
    text: String,
}

/// The result of parsing a block of lines.
#[derive(Default)]
struct Parsed {
    sums: Sums,
    wrong: Vec<Wrong>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { command, all }: &Arguments) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(&all.folder)?;
    let path = all.folder.join("sales.csv");
    if !matches!(command, Some(Command::Sum)) {
        file::make(&path, all.lines)?;
        println!("made {} with {} lines", path.display(), all.lines);
    }
    if !matches!(command, Some(Command::Make)) {
        sum_up(&path, &all.folder.join("wrong.csv"), all.parsers.into())?;
    }
    Ok(())
}

/// Returns the blocks of lines in a file, without its first line. After a read error, calls `tell`
/// with the error, and ends.
fn blocks(mut file: impl BufRead, tell: impl Fn(io::Error)) -> impl Iterator<Item = Lines> {
    let mut first = 2;
    iter::from_fn(move || {
        let (mut text, mut count) = (String::new(), 0);
        while count < BLOCK {
            match file.read_line(&mut text) {
                Ok(0) => break,
                Ok(_) => count += 1,
                Err(error) => {
                    tell(error);
                    return None;
                }
            }
        }
        let block = Lines { first, text };
        first += count as u64;
        (count > 0).then_some(block)
    })
}

fn parse(Lines { first, text }: &Lines) -> Parsed {
    let (mut sums, mut wrong) = (Sums::default(), Vec::new());
    for (number, line) in (*first..).zip(text.lines()) {
        match Sale::parse(line) {
            Ok(sale) => sums.add(&sale),
            Err(why) => wrong.push(Wrong {
                number,
                line: line.to_owned(),
                why,
            }),
        }
    }
    Parsed { sums, wrong }
}

/// Reads a file, prints the sums of its sales, and writes its invalid lines to another file.
fn sum_up(path: &Path, wrong_path: &Path, parsers: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let mut graph = Graph::new();
    let (lines, lines_in) = graph.channel::<Lines>(Slots::of(BLOCKS).named("lines").batch(1))?;
    let (parts, parts_in) = graph.bundle(parsers, Slots::of(BLOCKS).batch(1))?;
    let (parsed, parsed_in) = graph.bundle(parsers, Slots::of(BLOCKS).batch(1))?;
    let (all, all_in) = graph.channel::<Parsed>(Slots::of(BLOCKS).named("parsed"))?;

    let (tell, failed) = channel();
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    file.skip_until(b'\n')?;
    let blocks = blocks(file, move |error| {
        // The error is read when the graph has ended.
        let _ = tell.send(error);
    });
    graph.source("read", stages::produce(lines, blocks));
    graph.stage("distribute", stages::distribute(lines_in, parts));
    for (part, parsed) in parts_in.into_iter().zip(parsed) {
        graph.stage("parse", stages::map(part, parsed, parse));
    }
    graph.stage("gather", stages::merge(parsed_in, all));
    let result = Arc::new(Mutex::new(Parsed::default()));
    let sum = Arc::clone(&result);
    graph.stage(
        "sum",
        stages::consume(all_in, move |batch: &[Parsed]| {
            // The other user of the lock waits for the end of the graph.
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            for parsed in batch {
                sum.sums.merge(&parsed.sums);
                sum.wrong.extend(parsed.wrong.iter().cloned());
            }
        }),
    );
    let report = graph.start()?.join();
    if let Some(failure) = report.failures().first() {
        return Err(failure.message.clone().into());
    }
    if let Ok(error) = failed.try_recv() {
        return Err(format!("{}: {error}", path.display()).into());
    }
    let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
    let Parsed { sums, wrong } = &mut *result;
    wrong.sort_unstable_by_key(|wrong| wrong.number);
    print!("{sums}");
    write_wrong(wrong_path, wrong)?;
    println!(
        "{} wrong lines are in {}",
        wrong.len(),
        wrong_path.display()
    );
    let (bytes, took) = (fs::metadata(path)?.len(), began.elapsed());
    println!(
        "read {bytes} bytes in {took:.2?}: {:.0} MB/s",
        bytes as f64 / took.as_secs_f64() / 1e6
    );
    Ok(())
}

fn write_wrong(path: &Path, wrong: &[Wrong]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for Wrong { number, line, why } in wrong {
        writeln!(file, "line {number}: {why}: {line}")?;
    }
    file.flush()
}
