//! Counts the ways to put queens on a chess board so that no queen attacks another, by workers that
//! steal work from each other.
//!
//! Each partial board is a value of a work-stealing channel. The worker that receives a board sends
//! all boards with one queen more. The same worker receives most of these boards itself, from its
//! own deque, so they are still in its cache. A worker without boards steals half of another
//! worker's boards. The stolen boards are the oldest ones, which have the fewest queens and need
//! the most work.
//!
//! Run it with `cargo run --release -p garrick-examples --example work_stealing`.
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use garrick::steal::{self, Capacity, Worker};

const SIZE: u32 = 11;
/// Known number of solutions for this size.
const SOLUTIONS: u64 = 2680;
/// Minimum number of queens at which a worker completes a board itself instead of sending it.
const SENT_BELOW: u32 = 6;

/// A board with a queen in each of the first rows.
#[derive(Clone, Copy, Default)]
struct Board {
    rows: u32,
    /// Columns that are attacked in the next row, as bits: along the columns and along both
    /// diagonals.
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    /// Returns the boards with one queen more.
    fn next(self) -> impl Iterator<Item = Self> {
        let attacked = self.columns | self.left | self.right;
        (0..SIZE)
            .map(|column| 1 << column)
            .filter(move |queen| attacked & queen == 0)
            .map(move |queen| Self {
                rows: self.rows + 1,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
            })
    }

    fn solutions(self) -> u64 {
        if self.rows == SIZE {
            1
        } else {
            self.next().map(Self::solutions).sum()
        }
    }
}

/// Works until no board is left anywhere. Returns the number of solutions found.
fn search(
    worker: &mut Worker<Board>,
    unfinished: &AtomicU64,
) -> Result<u64, steal::SendError<Board>> {
    let mut solutions = 0;
    while let Some(board) = worker.recv() {
        if board.rows < SENT_BELOW {
            for next in board.next() {
                // Relaxed: the channel provides the ordering, and this only counts.
                unfinished.fetch_add(1, Relaxed);
                worker.send(next)?;
            }
        } else {
            solutions += board.solutions();
        }
        // The last board is done, and no worker creates more boards.
        if unfinished.fetch_sub(1, Relaxed) == 1 {
            worker.close();
        }
    }
    Ok(solutions)
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers = thread::available_parallelism()?.get().max(2);
    let channel = steal::channel(workers, 256, Capacity::Unbounded);
    let unfinished = Arc::new(AtomicU64::new(1));
    channel
        .sender
        .send(Board::default())
        .map_err(|_| "the channel is open")?;

    let start = Instant::now();
    let threads: Vec<_> = (channel.workers.into_iter())
        .map(|mut worker| {
            let unfinished = unfinished.clone();
            thread::spawn(move || search(&mut worker, &unfinished))
        })
        .collect();
    let mut solutions = 0;
    for thread in threads {
        let found = thread.join().map_err(|_| "a worker panicked")?;
        solutions += found.map_err(|_| "the channel was closed too early")?;
    }
    println!(
        "{solutions} ways to put {SIZE} queens, in {:?}",
        start.elapsed()
    );
    for (id, stats) in channel.receiver.stats().iter().enumerate() {
        println!(
            "worker {id}: {} boards sent, {} received, {} stolen, {} overflowed",
            stats.sent, stats.received, stats.stolen, stats.overflowed
        );
    }
    assert_eq!(solutions, SOLUTIONS);
    Ok(())
}
