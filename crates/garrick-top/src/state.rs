//! State of the screen. Keys and messages from the watched process change this state. This module
//! uses no terminal, clock or network.

use std::time::Duration;

use garrick_telemetry::Snapshot;

use crate::feed::Word;
use crate::history::History;
use crate::keys::{Action, Mode};
use crate::tables::{Column, Row, Tab};

/// Maximum length of the filter, in characters.
const FILTER_MAX: usize = 60;

/// The current snapshot, and the recent rates of its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    pub(crate) snapshot: Snapshot,
    pub(crate) history: History,
}

/// State of the connection to the watched process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    Live,
    Lost {
        why: String,
        /// Time from the loss of the connection to the next attempt.
        wait: Duration,
    },
}

/// The sort order, the cursor and the scroll position of one table.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Index of the column by which the rows are sorted. The flag is true if the largest value
    /// comes first. `None` if the rows are in the order of the snapshot.
    pub(crate) sort: Option<(usize, bool)>,
    /// Index of the selected row among the rows that are shown.
    pub(crate) cursor: usize,
    /// Id of the selected row. The cursor stays on this row.
    cursor_id: String,
    /// Index of the first row on the screen.
    pub(crate) first: usize,
}

/// The next step of the program after it has handled a key or a message from the watched process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Next {
    /// Nothing has changed, so the screen is not drawn.
    Rest,
    Draw,
    Quit,
}

/// State of the screen.
#[derive(Debug)]
pub(crate) struct State {
    /// Address of the watched process.
    pub(crate) target: String,
    pub(crate) link: Link,
    pub(crate) mode: Mode,
    pub(crate) tab: Tab,
    pub(crate) filter: String,
    /// Current rows of the table, filtered and sorted.
    pub(crate) rows: Vec<Row>,
    /// Number of rows that fitted on the screen when it was last drawn. Never 0.
    pub(crate) page: usize,
    /// Number of snapshots that have arrived since the user paused the screen.
    pub(crate) unseen: u64,
    live: Scene,
    /// Snapshot and rates at the moment when the user paused the screen.
    frozen: Option<Scene>,
    views: [View; Tab::ALL.len()],
}

impl State {
    pub(crate) fn new(target: String) -> Self {
        Self {
            target,
            link: Link::Live,
            mode: Mode::default(),
            tab: Tab::default(),
            filter: String::new(),
            rows: Vec::new(),
            page: 1,
            unseen: 0,
            live: Scene::default(),
            frozen: None,
            views: Tab::ALL.map(|tab| View {
                sort: tab.load_column().map(|column| (column, true)),
                ..View::default()
            }),
        }
    }

    /// Returns the snapshot and the rates that are shown.
    pub(crate) fn scene(&self) -> &Scene {
        self.frozen.as_ref().unwrap_or(&self.live)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    pub(crate) fn view(&self) -> &View {
        &self.views[self.tab as usize]
    }

    /// Returns the selected row.
    pub(crate) fn chosen(&self) -> Option<&Row> {
        self.rows.get(self.view().cursor)
    }

    /// Handles a message from the watched process, or the loss of the connection.
    pub(crate) fn hear(&mut self, word: Word) -> Next {
        match word {
            Word::Lost { why, wait } => self.link = Link::Lost { why, wait },
            Word::History(report) => {
                // The report also contains the rates that this program has recorded itself before
                // the connection was lost.
                self.live.history = History::default();
                self.live.history.push(&self.live.snapshot);
                self.live.history.begin(&report);
            }
            Word::Snapshot(snapshot) => {
                self.link = Link::Live;
                let (old, new) = (&self.live.snapshot, &*snapshot);
                if new.process.pid != old.process.pid || new.uptime < old.uptime {
                    // This is another process: no earlier rate belongs to it.
                    self.live.history = History::default();
                }
                self.live.history.push(new);
                self.live.snapshot = *snapshot;
                if self.is_paused() {
                    self.unseen += 1;
                } else {
                    self.arrange();
                }
            }
        }
        Next::Draw
    }

    /// Executes the action of a key.
    pub(crate) fn act(&mut self, action: Action) -> Next {
        match action {
            Action::Quit => return Next::Quit,
            Action::Back => return self.back(),
            Action::Help => self.mode = Mode::Help,
            Action::Pause => self.pause(),
            Action::Tab(tab) => {
                if Tab::offered(&self.scene().snapshot).contains(&tab) {
                    self.tab = tab;
                }
            }
            Action::NextTab(step) => {
                let tabs = Tab::offered(&self.scene().snapshot);
                // After a restart of the process, the last table may be missing.
                let now = tabs.iter().position(|tab| *tab == self.tab);
                let now = now.unwrap_or(tabs.len() - 1);
                self.tab = tabs[(now + tabs.len()).wrapping_add_signed(step) % tabs.len()];
            }
            Action::Move(by) => self.move_to(self.view().cursor.saturating_add_signed(by)),
            Action::Page(by) => {
                let by = by.saturating_mul(self.page.cast_signed());
                self.move_to(self.view().cursor.saturating_add_signed(by));
            }
            Action::First => self.move_to(0),
            Action::Last => self.move_to(usize::MAX),
            Action::Sort(step) => self.sort(step),
            Action::Reverse => {
                if let Some((_, largest_first)) = &mut self.views[self.tab as usize].sort {
                    *largest_first = !*largest_first;
                }
            }
            Action::Edit => self.mode = Mode::Filter,
            Action::Keep => self.mode = Mode::Browse,
            Action::Clear => self.filter.clear(),
            Action::Erase => drop(self.filter.pop()),
            Action::Type(letter) => {
                if self.filter.chars().count() < FILTER_MAX {
                    self.filter.push(letter);
                }
            }
        }
        self.arrange();
        Next::Draw
    }

    /// Closes the filter or the help, if one of them is open. Otherwise exits the program.
    fn back(&mut self) -> Next {
        match self.mode {
            Mode::Browse => return Next::Quit,
            Mode::Filter => self.filter.clear(),
            Mode::Help => {}
        }
        self.mode = Mode::Browse;
        self.arrange();
        Next::Draw
    }

    fn pause(&mut self) {
        self.unseen = 0;
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(self.live.clone()),
        };
    }

    fn move_to(&mut self, row: usize) {
        let row = row.min(self.rows.len().saturating_sub(1));
        let id = self.rows.get(row).map_or("", |row| &row.id);
        let view = &mut self.views[self.tab as usize];
        view.cursor = row;
        id.clone_into(&mut view.cursor_id);
    }

    /// Changes the sort order to the column that is `step` columns to the right. The order of the
    /// snapshot counts as one more column, between the last column and the first.
    fn sort(&mut self, step: isize) {
        let columns = self.tab.columns();
        let view = &mut self.views[self.tab as usize];
        let places = columns.len() + 1;
        let place = view.sort.map_or(0, |(column, _)| column + 1);
        let place = (place + places).wrapping_add_signed(step) % places;
        view.sort = place
            .checked_sub(1)
            .map(|column| (column, columns[column].is_figure));
    }

    /// Rebuilds the rows, and moves the cursor to the new position of the selected row.
    fn arrange(&mut self) {
        let words = self.filter.to_lowercase();
        let mut rows = self.tab.rows(&self.scene().snapshot);
        rows.retain(|row| row.matches(&words));
        if let Some((column, largest_first)) = self.view().sort {
            rows.sort_by(|this, that| {
                let order = this.values[column].compare(&that.values[column]);
                if largest_first {
                    order.reverse()
                } else {
                    order
                }
            });
        }
        self.rows = rows;
        let View {
            cursor, cursor_id, ..
        } = self.view();
        let found = self.rows.iter().position(|row| row.id == *cursor_id);
        self.move_to(found.unwrap_or(*cursor));
    }

    /// Records that `page` rows fit on the screen. Returns the index of the first row to draw. The
    /// selected row is always among the drawn rows.
    pub(crate) fn scroll(&mut self, page: usize) -> usize {
        self.page = page.max(1);
        let (page, rows) = (self.page, self.rows.len());
        let view = &mut self.views[self.tab as usize];
        let first_min = (view.cursor + 1).saturating_sub(page);
        let first = view.first.clamp(first_min, view.cursor);
        // No empty lines below while there are rows above.
        view.first = first.min(rows.saturating_sub(page));
        view.first
    }

    /// Returns the title of a column, with a sign if the rows are sorted by that column.
    pub(crate) fn heading(&self, index: usize, column: &Column) -> String {
        match self.view().sort {
            Some((sorted, true)) if sorted == index => format!("{}▼", column.title),
            Some((sorted, false)) if sorted == index => format!("{}▲", column.title),
            _ => column.title.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
