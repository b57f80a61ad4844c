//! The four kinds of trouble that the example `operations` shows.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use garrick::telemetry::{Snapshot, Telemetry};

use super::program::Program;
use super::{crash_loop, full_channel, growing_mailbox, long_handler};

/// A kind of trouble that a program can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// One of 50,000 actors takes 30 ms for each message.
    LongHandler,
    /// An actor fails again and again, and its supervisor restarts it each time.
    CrashLoop,
    /// An actor gets more messages than it can handle.
    GrowingMailbox,
    /// One stage of a pipeline is slower than the others.
    FullChannel,
}

impl Trouble {
    /// All kinds of trouble.
    pub const ALL: [Self; 4] = [
        Self::LongHandler,
        Self::CrashLoop,
        Self::GrowingMailbox,
        Self::FullChannel,
    ];

    /// Returns the word that stands for this trouble on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::LongHandler => "long-handler",
            Self::CrashLoop => "crash-loop",
            Self::GrowingMailbox => "growing-mailbox",
            Self::FullChannel => "full-channel",
        }
    }

    /// Returns a description of the program, and of the places on the page that show its trouble.
    pub fn description(self) -> &'static str {
        match self {
            Self::LongHandler => {
                "An exchange with 50,000 actors on two workers. One of them takes 30 ms for each \
                 message.\nLook at: the first row of the panel \"Actors that stand out\", the \
                 columns Waiting and Busy of OrderBook, the alert."
            }
            Self::CrashLoop => {
                "A shop whose actor for payments fails at each message, and is restarted each \
                 time.\nLook at: the alert, the panels \"Recent failures\" and \"Supervision\", \
                 the columns Failures and Restarts of Payment."
            }
            Self::GrowingMailbox => {
                "A website whose pages send 5,000 records/s to an actor that writes fewer than \
                 1,000.\nLook at: the column Waiting of AuditLog, its chart \"Messages waiting\", \
                 the first row of the panel \"Actors that stand out\", the alert after some \
                 seconds."
            }
            Self::FullChannel => {
                "A pipeline of three stages, of which the second one is slow.\nLook at: the \
                 sentence above the graph that names the bottleneck, the red channel in front of \
                 the stage, the columns Busy, Starved and Back-pressured."
            }
        }
    }

    /// Starts a program with this trouble, and lets `telemetry` watch it.
    ///
    /// # Errors
    /// Returns an error if the system cannot provide threads.
    pub fn start(self, telemetry: &Telemetry) -> Result<Program, Box<dyn Error>> {
        match self {
            Self::LongHandler => long_handler::start(telemetry),
            Self::CrashLoop => crash_loop::start(telemetry),
            Self::GrowingMailbox => growing_mailbox::start(telemetry),
            Self::FullChannel => full_channel::start(telemetry),
        }
    }

    /// Returns what the snapshot `seen` says about the trouble, or `None` if the snapshot does not
    /// show the trouble yet.
    pub fn found(self, seen: &Snapshot) -> Option<String> {
        match self {
            Self::LongHandler => long_handler::found(seen),
            Self::CrashLoop => crash_loop::found(seen),
            Self::GrowingMailbox => growing_mailbox::found(seen),
            Self::FullChannel => full_channel::found(seen),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Trouble {
    type Err = UnknownTrouble;

    fn from_str(word: &str) -> Result<Self, UnknownTrouble> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|trouble| trouble.word() == word);
        found.ok_or_else(|| UnknownTrouble(word.to_owned()))
    }
}

/// The error returned when a word stands for no trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTrouble(String);

impl fmt::Display for UnknownTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Trouble::ALL.map(Trouble::word).join(", ");
        write!(f, "there is no program `{}`; there are: {words}", self.0)
    }
}

impl Error for UnknownTrouble {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_programs_and_bad_words_to_a_list() {
        for trouble in Trouble::ALL {
            assert_eq!(trouble.to_string().parse(), Ok(trouble));
        }
        let error = "long handler".parse::<Trouble>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no program `long handler`; there are: long-handler, crash-loop, \
             growing-mailbox, full-channel"
        );
    }
}
