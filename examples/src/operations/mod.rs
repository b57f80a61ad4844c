//! Four programs, each with a typical trouble. The guide `docs/operations.md` shows how telemetry
//! finds each trouble, and the example `operations` runs the programs.

mod program;
mod seen;

mod crash_loop;
mod full_channel;
mod growing_mailbox;
mod long_handler;

mod trouble;

pub use program::Program;
pub use trouble::{Trouble, UnknownTrouble};
