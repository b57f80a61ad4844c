//! Cells.
//!
//! A cell sends its state to its eight neighbors, and computes its next state when it has received
//! the states of all neighbors. So a neighbor can be at most one generation ahead, because it needs
//! the state of this cell for the next step. Two counters are enough, one for this generation and
//! one for the next.

use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use garrick::{Actor, Address, Context};

/// A message to a cell.
#[derive(Clone, Copy)]
pub(crate) enum Msg {
    /// Makes the cell begin, because all cells have been spawned.
    Begin,
    /// State of a neighbor in one generation. `is_odd` is true if the number of the generation is
    /// odd.
    State { is_odd: bool, is_alive: bool },
}

/// Data that all cells share.
pub(crate) struct Grid {
    width: u32,
    height: u32,
    generations: u32,
    cells: OnceLock<Vec<Address<Msg>>>,
    /// Receives the number of each cell and its state in the last generation.
    tell: Sender<(u32, bool)>,
}

impl Grid {
    pub(crate) fn new(
        width: u32,
        height: u32,
        generations: u32,
        tell: Sender<(u32, bool)>,
    ) -> Self {
        Self {
            width,
            height,
            generations,
            cells: OnceLock::new(),
            tell,
        }
    }

    /// Gives the cells each other's addresses.
    ///
    /// # Panics
    /// Panics if the method was already called.
    pub(crate) fn connect(&self, cells: Vec<Address<Msg>>) {
        assert!(
            self.cells.set(cells).is_ok(),
            "the cells know each other already"
        );
    }

    /// Returns the neighbors of a cell.
    fn neighbors(&self, number: u32) -> impl Iterator<Item = &Address<Msg>> {
        let (width, height) = (self.width, self.height);
        let (x, y) = (number % width, number / width);
        let cells = self.cells.get().map_or(&[][..], Vec::as_slice);
        let around = [height - 1, 0, 1].into_iter().flat_map(move |down| {
            let row = (y + down) % height * width;
            [width - 1, 0, 1].map(|right| row + (x + right) % width)
        });
        let others = around.filter(move |other| *other != number);
        others.filter_map(|other| cells.get(other as usize))
    }
}

/// A cell.
pub(crate) struct Cell {
    number: u32,
    generation: u32,
    is_alive: bool,
    has_begun: bool,
    /// Number of neighbors whose states were received, for the even and for the odd generation.
    heard: [u8; 2],
    /// Number of these neighbors that are alive, for the even and for the odd generation.
    alive: [u8; 2],
    grid: Arc<Grid>,
}

impl Cell {
    pub(crate) fn new(number: u32, is_alive: bool, grid: &Arc<Grid>) -> Self {
        Self {
            number,
            generation: 0,
            is_alive,
            has_begun: false,
            heard: [0; 2],
            alive: [0; 2],
            grid: Arc::clone(grid),
        }
    }

    /// Sends the cell's state to its neighbors. In the last generation, sends it to the main thread
    /// instead.
    fn tell(&self, cx: &Context<'_, Msg>) {
        if self.generation == self.grid.generations {
            // The program may have ended.
            let _ = self.grid.tell.send((self.number, self.is_alive));
            return;
        }
        let (is_odd, is_alive) = (self.generation % 2 == 1, self.is_alive);
        for neighbor in self.grid.neighbors(self.number) {
            // A cell ends only with the system.
            let _ = cx.send(neighbor, Msg::State { is_odd, is_alive });
        }
    }

    /// Enters the next generation while the states of all eight neighbors in the current generation
    /// are known.
    fn advance(&mut self, cx: &Context<'_, Msg>) {
        loop {
            let now = (self.generation % 2) as usize;
            if !self.has_begun || self.heard[now] < 8 {
                return;
            }
            self.is_alive = matches!((self.is_alive, self.alive[now]), (_, 3) | (true, 2));
            (self.heard[now], self.alive[now]) = (0, 0);
            self.generation += 1;
            self.tell(cx);
        }
    }
}

impl Actor for Cell {
    type Msg = Msg;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
        match msg {
            Msg::Begin => {
                self.has_begun = true;
                self.tell(cx);
            }
            Msg::State { is_odd, is_alive } => {
                self.heard[usize::from(is_odd)] += 1;
                self.alive[usize::from(is_odd)] += u8::from(is_alive);
            }
        }
        self.advance(cx);
    }
}
