//! Tests signals that end a process. Each test starts its own test binary again as a child process.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use garrick_actor::{Address, Next, Reply, System, behavior};
use garrick_testkit::ends;
use garrick_tokio::{Ending, Signals, StopSignal, run_until_signal, shutdown_on_signal};
use rustix::process::{Pid, Signal, kill_process};

use super::system;

const ROLE: &str = "GARRICK_TOKIO_SIGNALS";

/// The signal that the tests send to end a process, and its number. In builds without Unix calls,
/// only Ctrl-C is received.
const LAST: (Signal, u32) = if cfg!(garrick_portable) {
    (Signal::INT, 2)
} else {
    (Signal::TERM, 15)
};

/// A child process that runs one test, and its output.
struct Player {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stdin: ChildStdin,
}

impl Player {
    fn new(test: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("signals::{test}"), "--nocapture"])
            .env(ROLE, test)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take().unwrap();
        let mut player = Self {
            child,
            lines,
            stdin,
        };
        player.hear("ready");
        player
    }

    /// Reads the child's output until a line ends with `word`.
    #[track_caller]
    fn hear(&mut self, word: &str) {
        let heard = self.lines.by_ref().map_while(Result::ok);
        assert!(
            heard.into_iter().any(|line| line.ends_with(word)),
            "never said {word}"
        );
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // A process that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn plays(test: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|role| role == test)
}

/// Prints a word, and flushes the output.
fn say(word: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{word}").and_then(|()| out.flush()).unwrap();
}

/// Reports that this process is ready as soon as it catches the signal [`LAST`].
fn say_when_caught() {
    const CAUGHT: u64 = 1 << (LAST.1 - 1);
    std::thread::spawn(|| {
        loop {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            if u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & CAUGHT != 0 {
                return say("ready");
            }
            std::thread::yield_now();
        }
    });
}

/// Spawns an actor that waits for a line from the parent process in its first turn, while more
/// messages wait in its mailbox.
fn stuck(system: &System) -> Address<Reply<u32>> {
    let count = AtomicU32::new(0);
    let actor = system.spawn(behavior(move |reply: Reply<u32>, _| {
        if count.fetch_add(1, Relaxed) == 0 {
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        reply.send(count.load(Relaxed));
        Next::Continue
    }));
    actor.unwrap()
}

/// Shuts down a system with a stuck actor. Reports the signal, and how the shutdown ended.
fn play_stuck() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let system = system(1);
        let actor = stuck(&system);
        let asks: Vec<_> = (0..100).map(|_| actor.ask(|reply| reply)).collect();
        drop(actor);
        let mut signals = Signals::listen().unwrap();
        say("ready");
        assert_eq!(signals.recv().await, StopSignal::Interrupt);
        say("told");
        match signals.shutdown(system).await.unwrap() {
            Ending::InOrder => {
                for (number, ask) in (1..).zip(asks) {
                    assert_eq!(ask.await, Ok(number));
                }
                say("in order");
            }
            Ending::AtOnce => say("at once"),
        }
    });
}

#[test]
fn the_first_signal_ends_in_order() {
    if plays("the_first_signal_ends_in_order") {
        return play_stuck();
    }
    ends(|| {
        let mut player = Player::new("the_first_signal_ends_in_order");
        player.send(Signal::INT);
        player.hear("told");
        writeln!(player.stdin, "go on").unwrap();
        player.hear("in order");
        assert!(player.child.wait().unwrap().success());
    });
}

#[test]
fn the_second_signal_waits_for_nobody() {
    if plays("the_second_signal_waits_for_nobody") {
        return play_stuck();
    }
    ends(|| {
        let mut player = Player::new("the_second_signal_waits_for_nobody");
        player.send(Signal::INT);
        player.hear("told");
        player.send(LAST.0);
        player.hear("at once");
        assert!(player.child.wait().unwrap().success());
    });
}

#[test]
fn a_plain_main_runs_until_a_signal() {
    if plays("a_plain_main_runs_until_a_signal") {
        say_when_caught();
        assert_eq!(run_until_signal(system(1)).unwrap(), Ending::InOrder);
        return say("in order");
    }
    ends(|| {
        let mut player = Player::new("a_plain_main_runs_until_a_signal");
        player.send(LAST.0);
        player.hear("in order");
        assert!(player.child.wait().unwrap().success());
    });
}

#[test]
fn a_main_of_tokio_runs_until_a_signal() {
    if plays("a_main_of_tokio_runs_until_a_signal") {
        say_when_caught();
        let ordinary = System::builder().workers(1).start().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ending = runtime.block_on(shutdown_on_signal(ordinary)).unwrap();
        assert_eq!(ending, Ending::InOrder);
        return say("in order");
    }
    ends(|| {
        let mut player = Player::new("a_main_of_tokio_runs_until_a_signal");
        player.send(Signal::INT);
        player.hear("in order");
        assert!(player.child.wait().unwrap().success());
    });
}
