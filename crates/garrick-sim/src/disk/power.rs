//! The power of a disk: on, off, or about to go off.

use std::io;

/// The power of a disk, which determines whether operations are possible.
#[derive(Debug, Default)]
pub(super) struct Power {
    state: State,
    /// Number of crashes so far. An open file is valid only until the next crash.
    crashes: u32,
}

/// The states of a disk's power.
#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// Operations are possible.
    #[default]
    On,
    /// Operations are possible, and the node may crash at one of them.
    AtRisk,
    /// The node has crashed at an operation. The simulation drops the actors of the node after the
    /// turn.
    Lost,
    /// The node has crashed.
    Off,
}

impl Power {
    pub(super) fn crashes(&self) -> u32 {
        self.crashes
    }

    /// Returns true if the node may crash at an operation.
    pub(super) fn is_at_risk(&self) -> bool {
        self.state == State::AtRisk
    }

    /// Returns true if the node has crashed at an operation, and its actors have not been dropped
    /// yet.
    pub(super) fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// Sets whether the node may crash at an operation of the next turn. Does nothing if the node
    /// has crashed.
    pub(super) fn set_at_risk(&mut self, at_risk: bool) {
        self.state = match self.state {
            State::On | State::AtRisk if at_risk => State::AtRisk,
            State::On | State::AtRisk => State::On,
            State::Lost => State::Lost,
            State::Off => State::Off,
        };
    }

    /// Records that the node has crashed at an operation. Must be called only in the state
    /// `AtRisk`.
    pub(super) fn lose(&mut self) {
        debug_assert_eq!(self.state, State::AtRisk);
        self.state = State::Lost;
    }

    /// Crashes the node, from any state.
    pub(super) fn crash(&mut self) {
        self.state = State::Off;
        self.crashes += 1;
    }

    /// Makes operations possible after a crash.
    pub(super) fn start(&mut self) {
        debug_assert_eq!(self.state, State::Off);
        self.state = State::On;
    }

    /// Checks that operations through a handle are possible. `crashes` is the number of crashes
    /// before the handle was created, or `None` for a handle that stays valid after a crash.
    ///
    /// # Errors
    /// Returns an error if the node is down, or if the handle became invalid in a crash.
    pub(super) fn check(&self, node: &str, crashes: Option<u32>) -> io::Result<()> {
        if matches!(self.state, State::Lost | State::Off) {
            let text = format!("the node {node:?} has crashed, so its disk cannot be used");
            return Err(io::Error::other(text));
        }
        if crashes.is_some_and(|crashes| crashes != self.crashes) {
            let text = format!("the file was opened before a crash of the node {node:?}");
            return Err(io::Error::new(io::ErrorKind::StaleNetworkFileHandle, text));
        }
        Ok(())
    }
}
