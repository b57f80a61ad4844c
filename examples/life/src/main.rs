//! Conway's game of life, in which each cell is an actor. By default there are a million cells.
//! Neighboring cells send each other their states. No other actor tells them when a generation
//! begins. The README shows how to run the program.
#![forbid(unsafe_code)]

mod picture;

mod cell;
mod pattern;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use clap::Parser;
use garrick::{Next, Reply, System, behavior};

use cell::{Cell, Grid, Msg};
use pattern::Pattern;
use picture::Picture;

/// Plays the game of life with an actor for each cell, and draws the last generation.
#[derive(Parser)]
struct Arguments {
    /// Number of cells in a row. The right neighbor of the last cell is the first cell of the row.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(3..=4_096))]
    width: u32,
    /// Number of rows.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(3..=4_096))]
    height: u32,
    /// Number of generations.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    generations: u32,
    /// Pattern of the first generation.
    #[arg(long, value_enum, default_value_t = Pattern::Random)]
    pattern: Pattern,
    /// Number of threads. The default is the number of cores.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    workers: Option<u16>,
    /// File for the picture, in the format PNG.
    #[arg(long, default_value = "life.png")]
    picture: PathBuf,
}

/// Maximum number of cells in a row for which the last generation is printed, too.
const PRINTED_MAX: u32 = 80;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (width, height) = (arguments.width, arguments.height);
    let mut system = System::builder();
    if let Some(workers) = arguments.workers {
        system = system.workers(workers.into());
    }
    let system = system.start()?;
    let began = Instant::now();
    let (tell, told) = channel();
    let grid = Arc::new(Grid::new(width, height, arguments.generations, tell));
    // An actor is spawned where its spawner runs, so most neighbors are on the same worker.
    let workers = system.handle().workers() as u32;
    let plant = |worker: u32| {
        let rows = height * worker / workers..height * (worker + 1) / workers;
        let (pattern, grid) = (arguments.pattern, Arc::clone(&grid));
        let planter = behavior(move |reply: Reply<Vec<_>>, cx| {
            let spawn = |number| {
                let alive = pattern.is_alive(number % width, number / width);
                cx.spawn(Cell::new(number, alive, &grid))
            };
            reply.send((rows.start * width..rows.end * width).map(spawn).collect());
            Next::Stop
        });
        Ok::<_, Box<dyn Error>>(system.spawn(planter)?.ask(|reply| reply))
    };
    let planted = (0..workers).map(plant).collect::<Result<Vec<_>, _>>()?;
    let mut cells = Vec::new();
    for planted in planted {
        cells.extend(planted.wait()?);
    }
    grid.connect(cells.clone());
    println!("spawned {} actors in {:.2?}", cells.len(), began.elapsed());

    let began = Instant::now();
    for cell in &cells {
        cell.send(Msg::Begin)?;
    }
    let mut picture = Picture::new(width, height);
    for _ in &cells {
        let (number, alive) = told.recv()?;
        picture.set(number, alive);
    }
    let took = began.elapsed();
    let messages = 8 * cells.len() as u64 * u64::from(arguments.generations);
    println!(
        "{} generations by {messages} messages in {took:.2?}, {:.1} million/s",
        arguments.generations,
        messages as f64 / took.as_secs_f64() / 1e6
    );
    if width <= PRINTED_MAX {
        print!("{picture}");
    }
    println!("{} of {} cells are alive", picture.alive(), cells.len());
    std::fs::write(&arguments.picture, picture.png())?;
    println!("the picture is in {}", arguments.picture.display());
    // The cells know each other, so they end with their system.
    system.shutdown();
    Ok(())
}
