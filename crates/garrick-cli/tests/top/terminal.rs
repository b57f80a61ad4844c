//! Simulated terminal in which a test runs a program. The test sends keys and reads the screen.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

/// Time limit of a test. A test that takes longer is considered to hang.
const GUARD: Duration = Duration::from_secs(60);

pub(crate) struct Terminal {
    child: Child,
    /// The user's side of the pseudo-terminal.
    user: File,
    /// The program's side of the pseudo-terminal. `None` after the program has ended.
    program: Option<OwnedFd>,
    /// Settings of the terminal before the program began.
    before: String,
    output: Receiver<Vec<u8>>,
    /// All bytes that the program wrote.
    pub(crate) written: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    /// Runs `command` as the leader of a session with a new terminal.
    pub(crate) fn start(command: &Command, lines: u16, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let user = openpt(flags).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let program = ioctl_tiocgptpeer(&user, flags).unwrap();
        tcsetwinsize(&user, size(lines, columns)).unwrap();
        let mut session = Command::new("setsid");
        session
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => session.env(key, value),
                None => session.env_remove(key),
            };
        }
        session.env("TERM", "xterm-256color");
        session.stdin(program.try_clone().unwrap());
        session.stdout(program.try_clone().unwrap());
        let before = settings(&program);
        let child = session.spawn().unwrap();
        let user = File::from(user);
        let mut reading = user.try_clone().unwrap();
        let (told, output) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reading.read(&mut bytes) {
                if told.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            user,
            program: Some(program),
            before,
            output,
            written: Vec::new(),
            screen: vt100::Parser::new(some(lines), some(columns), 0),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the contents of the screen.
    pub(crate) fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Reads until the screen contains all of `words`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &[&str]) {
        self.wait_until(|screen| words.iter().all(|word| screen.contains(word)));
    }

    /// Reads until the screen satisfies `is_there`.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, is_there: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_there(&self.contents()) {
            match self
                .output
                .recv_timeout(GUARD.saturating_sub(began.elapsed()))
            {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("the screen never showed it:\n{}", self.contents())
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.written.extend_from_slice(bytes);
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, lines: u16, columns: u16) {
        tcsetwinsize(&self.user, size(lines, columns)).unwrap();
        self.screen
            .screen_mut()
            .set_size(some(lines), some(columns));
    }

    /// Waits until the program has ended. Asserts that the terminal is in the same state as before
    /// the start of the program.
    #[track_caller]
    pub(crate) fn wait_for_the_end(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        let program = self.program.take().expect("it has not ended before");
        assert_eq!(settings(&program), self.before, "the terminal's settings");
        // Once the last handle on the program's side is closed, the user's reads end after the last
        // byte.
        drop(program);
        while let Ok(bytes) = self.output.recv() {
            self.take(&bytes);
        }
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        status
    }
}

/// Kills the program, because it must not outlive a failed test.
impl Drop for Terminal {
    fn drop(&mut self) {
        if self.program.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn size(lines: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: lines,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn some(length: u16) -> NonZero<u16> {
    NonZero::new(length).expect("a screen has lines and columns")
}

fn settings(terminal: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(terminal).unwrap())
}
