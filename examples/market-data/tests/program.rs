//! Tests that run the program as a user does, and read its web page while it runs.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running program, which is killed on drop.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
    url: String,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_market-data"))
            .args(["--address", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("the page is at ")
            .expect("it tells the page");
        let url = url.to_owned();
        Self { child, output, url }
    }

    fn get(&self, path: &str) -> String {
        let config = ureq::Agent::config_builder().proxy(None).build();
        let agent = ureq::Agent::new_with_config(config);
        let mut response = agent.get(format!("{}{path}", self.url)).call().unwrap();
        response.body_mut().read_to_string().unwrap()
    }

    /// Closes the standard input, waits for the end of the program, and returns the rest of its
    /// output.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
        rest
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_shows_the_pipeline_while_it_runs() {
    let program = Program::start(&[]);
    assert!(program.get("").contains("<title>"));
    let metrics = || program.get("metrics");
    let all = ["feed", "decode", "by share", "bars", "bars#2"];
    while !all
        .iter()
        .all(|stage| metrics().contains(&format!("node=\"{stage}\"}}")))
    {
        std::thread::yield_now();
    }
    assert!(program.get("graph.json").contains("packets"));
    let rest = program.end();
    assert!(rest.contains("damaged packets"), "{rest}");
}

#[test]
fn the_bars_do_not_depend_on_the_number_of_stages() {
    let run = |parts: &str| {
        let trades = ["--rate", "0", "--trades", "300000", "--parts", parts];
        let rest = Program::start(&trades).end();
        let lines = rest.lines().filter(|line| line.contains("trades"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, four) = (run("1"), run("4"));
    assert_eq!(one, four);
    // A packet of 1009 is damaged.
    assert_eq!(one.last().unwrap(), "299703 trades, 297 damaged packets");
    assert!(
        one[0].starts_with("share 0: ") && one[0].contains(", mean "),
        "{}",
        one[0]
    );
}
