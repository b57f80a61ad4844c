//! Tests of `garrick top` in a terminal: the screen, the keys, and the state of the terminal after
//! the program.

use std::process::Command;

use super::server::Process;
use super::terminal::Terminal;
use super::{EVIL, snapshot, top};

/// Starts a process, and a terminal of 24 lines that shows it.
fn watched() -> (Process, Terminal) {
    let process = Process::start(snapshot("first", 1));
    let mut terminal = Terminal::start(&top(&process.address()), 24, 80);
    terminal.wait_for(&["* live", "pipeline (pid 7)", ">   first", "    second"]);
    (process, terminal)
}

#[track_caller]
fn assert_ends(terminal: &mut Terminal) {
    assert_eq!(terminal.wait_for_the_end().code(), Some(0));
}

#[test]
fn numbers_change_until_the_user_quits() {
    let (process, mut terminal) = watched();
    for (sequence, name) in [(2, "renamed"), (3, "again")] {
        process.show(snapshot(name, sequence));
        terminal.wait_for(&[name]);
    }
    terminal.type_in("q");
    assert_ends(&mut terminal);
}

#[test]
fn keys_choose_sort_filter_hold_and_explain() {
    let (process, mut terminal) = watched();
    terminal.wait_for(&["BUSY▼"]);
    terminal.type_in("j<<<<\u{1b}[D");
    terminal.wait_for(&[">   second", "NAME▲"]);
    terminal.type_in("r");
    terminal.wait_for(&["NAME▼"]);
    terminal.type_in("/FIR");
    terminal.wait_for(&["/FIR_", ">   first"]);
    assert!(!terminal.contents().contains("    second"));
    terminal.type_in("\r2");
    terminal.wait_for(&["first -> second", "1 of 1 with 'FIR'"]);
    terminal.type_in(" ");
    terminal.wait_for(&["= paused, 0 new"]);
    process.show(snapshot("other", 2));
    terminal.wait_for(&["= paused, 1 new", "first -> second"]);
    terminal.type_in("p/\u{15}\r");
    terminal.wait_for(&["* live", "other -> second"]);
    terminal.type_in("?");
    terminal.wait_for(&["Ctrl-C", "!! critical"]);
    terminal.type_in("?q");
    assert_ends(&mut terminal);
}

#[test]
fn escape_and_ctrl_c_and_signals_quit() {
    for keys in ["\u{1b}", "\u{3}", "/q\u{3}"] {
        let (_process, mut terminal) = watched();
        terminal.type_in(keys);
        assert_ends(&mut terminal);
    }
    for signal in ["-TERM", "-INT", "-HUP"] {
        let (_process, mut terminal) = watched();
        let id = terminal.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        assert_ends(&mut terminal);
    }
}

#[test]
fn the_screen_follows_the_terminals_size() {
    let (_process, mut terminal) = watched();
    terminal.resize(10, 40);
    terminal.wait_for(&["40x10 is too small"]);
    terminal.resize(40, 160);
    terminal.wait_until(|screen| screen.contains("PLACE") && screen.contains("SLOW"));
    terminal.type_in("q");
    assert_ends(&mut terminal);
}

#[test]
fn a_lost_process_is_found_again() {
    let (process, mut terminal) = watched();
    process.close();
    terminal.wait_for(&["x lost", "trying again in", ">   first"]);
    terminal.wait_for(&["the process answered 503 Service Unavailable: not now"]);
    process.open();
    terminal.wait_for(&["* live"]);
    process.show(snapshot("back", 9));
    terminal.wait_for(&["back"]);
    drop(process);
    terminal.type_in("q");
    assert_ends(&mut terminal);
}

#[test]
fn names_cannot_reach_the_terminal() {
    let process = Process::start(snapshot(EVIL, 1));
    let mut terminal = Terminal::start(&top(&process.address()), 24, 160);
    terminal.wait_for(&["\\u{1b}]0;owned\\u{7}"]);
    terminal.type_in("q");
    assert_ends(&mut terminal);
    let written = String::from_utf8(terminal.written.clone()).unwrap();
    for bad in ["\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!written.contains(bad), "{bad:?}");
    }
}

#[test]
fn no_color_is_obeyed() {
    let colored = |written: &[u8]| {
        written
            .windows(5)
            .any(|bytes| bytes == b"\x1b[32m" || bytes == b"8;5;2")
    };
    for (wanted, has_colors) in [("1", false), ("", true)] {
        let process = Process::start(snapshot("first", 1));
        let mut command = top(&process.address());
        command.env("NO_COLOR", wanted);
        let mut terminal = Terminal::start(&command, 24, 80);
        terminal.wait_for(&["* live", ">   first"]);
        terminal.type_in("q");
        assert_ends(&mut terminal);
        assert_eq!(colored(&terminal.written), has_colors, "{wanted:?}");
    }
}

#[test]
fn what_cannot_begin_leaves_the_terminal_alone() {
    let process = Process::start(snapshot("first", 1));
    process.close();
    let mut terminal = Terminal::start(&top(&process.address()), 24, 80);
    assert_eq!(terminal.wait_for_the_end().code(), Some(1));
    assert_eq!(terminal.written, b"");
}
