//! Tests of whole screens and their contents.
use std::time::Duration;

use garrick_telemetry::{ActorStatus, Pipeline, Snapshot};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::feed::Word;
use crate::keys::Action;
use crate::sample;
use crate::tables::Tab;

fn state_of(snapshot: Snapshot) -> State {
    let mut state = State::new("http://127.0.0.1:9900".to_owned());
    state.hear(Word::Snapshot(Box::new(snapshot)));
    // Most tests are about rows in the order of the snapshot.
    state.act(Action::Sort(-6));
    state.act(Action::First);
    state
}

fn state() -> State {
    state_of(sample::snapshot())
}

fn screen(state: &mut State, columns: u16, lines: u16, theme: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, state, theme)).unwrap();
    terminal.backend().buffer().clone()
}

/// Returns the screen's lines, without trailing blanks.
fn lines(state: &mut State, columns: u16, lines: u16) -> Vec<String> {
    let buffer = screen(state, columns, lines, Theme::PLAIN);
    let rows = buffer.content().chunks(usize::from(columns));
    rows.map(|row| {
        let mut line = String::new();
        let mut covered = 0;
        for cell in row {
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = crate::text::width(cell.symbol()).max(1);
            }
            covered -= 1;
        }
        line.trim_end().to_owned()
    })
    .collect()
}

#[track_caller]
fn assert_screen(state: &mut State, columns: u16, expected: &[&str]) {
    let seen = lines(state, columns, expected.len() as u16);
    assert_eq!(seen, expected, "\n{}", seen.join("\n"));
}

#[test]
fn the_smallest_screen_has_everything() {
    assert_screen(
        &mut state(),
        60,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900 * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors  2 Channels  3 Sponsors  4 Alerts",
            "    NAME                 RATE/S  MESSAGES       BUSY   QUEUE",
            ">   generator             161 M    9.65 G ███▏·  62%       -",
            " !  worker                161 M    9.65 G ████▋  93%       -",
            " x  logger                 0.00         0 ·····   0%       -",
            "    Counter                50.0      3000 ·····   1%      17",
            "",
            "-- generator -----------------------------------------------",
            "stage on pipeline, ok; 9,648,000,000 messages",
            "busy  62%         █████████████████████████▍···············",
            "161 M/s                                                    █",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
}

#[test]
fn a_larger_screen_has_more_columns() {
    assert_screen(
        &mut state(),
        130,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900                                                                       * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s                                                                       !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors 4  2 Channels 2  3 Sponsors 1  4 Alerts 1",
            "    NAME          KIND   PLACE         RATE/S  MESSAGES       BUSY  STARVED  PRESSED  TURNS/S   QUEUE  FAILURES  RESTARTS     TURN",
            ">   generator     stage  pipeline       161 M    9.65 G ███▏·  62%        -        -   4.89 K       -         0         0        -",
            " !  worker        stage  pipeline       161 M    9.65 G ████▋  93%       2%       5%   4.89 K       -         0         0        -",
            " x  logger        stage  pipeline        0.00         0 ·····   0%        -        -   4.89 K       -         0         2        -",
            "    Counter       actors sponsor-0       50.0      3000 ·····   1%        -        -   4.89 K      17         0         0   2.30 s",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "-- generator ---------------------------------------------------------------------------------------------------------------------",
            "stage on pipeline, ok; 9,648,000,000 messages",
            "busy  62%         ████████████████████████████████████████████████████████████████████▉··········································",
            "161 M/s                                                                                                                          █",
            "max 161 M/s                                                                                                                      █",
            "                                                                                                                                 █",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
}

#[test]
fn a_process_that_records_metrics_has_one_more_table() {
    let mut state = state_of(sample::with_metrics());
    state.act(Action::Tab(Tab::Metrics));
    state.act(Action::Move(2));
    assert_screen(
        &mut state,
        90,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900                               * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s                               !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors 4  2 Channels 2  3 Sponsors 1  4 Alerts 1  5 Metrics 3",
            "    METRIC              LABELS               KIND          VALUE  RATE/S   MEDIAN      P99",
            "    orders_total        shop=north           counter      12.3 K    40.0        -        -",
            "    level                                    gauge          0.25       -        -        -",
            ">   order_seconds                            histogram       100    2.00  3.00 ms   250 ms",
            "",
            "",
            "-- order_seconds -------------------------------------------------------------------------",
            "Time that an order took.",
            "",
            "2.00/s",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
}

#[test]
fn each_table_has_its_columns() {
    let mut state = state();
    state.act(Action::Tab(Tab::Channels));
    assert_screen(
        &mut state,
        100,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900                                         * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s                                         !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors 4  2 Channels 2  3 Sponsors 1  4 Alerts 1",
            "    CHANNEL                    MESSAGE       CAPACITY  RATE/S   TOTAL      FILL▼   P80   P95   BATCH",
            ">!! messages                   Message         65.5 K   161 M  9.65 G ████▉  97%   97%   97%      16",
            "    generator -> worker        u64             65.5 K   161 M  9.65 G ██▌··  50%   50%   50%      16",
            "",
            "",
            "",
            "-- messages ----------------------------------------------------------------------------------------",
            "63,569 of 65,536 slots full; 9,650,000,000 messages; the sender waited 1,000 times, the receiver 20",
            "fill  97%         █████████████████████████████████████████████████████████████▏·   p80 97%  p95 97%",
            "161 M/s                                                                                            █",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
    state.act(Action::Tab(Tab::Sponsors));
    assert_screen(
        &mut state,
        60,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900 * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors  2 Channels  3 Sponsors  4 Alerts",
            "    SPONSOR              WORKERS       IDLE TURNS/S▼   TURNS",
            ">   pipeline                   2 █▎···  25%     50.0    5000",
            "",
            "",
            "",
            "",
            "-- pipeline ------------------------------------------------",
            "worker 1 in Counter for 2.30 s; worker 3 in worker for 20.0…",
            "busy  75%         ██████████████████████████████▊··········",
            "50.0/s                                                     █",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
    state.act(Action::Tab(Tab::Alerts));
    assert_screen(
        &mut state,
        60,
        &[
            "garrick (pid 4242)  up 1:02:03  http://127.0.0.1:9900 * live",
            "CPU 1.52  memory 12.0 MiB  threads 5  window 10 s !! 1 alert",
            "worker is the bottleneck: 93 % busy, its output is full.",
            " 1 Stages & actors  2 Channels  3 Sponsors  4 Alerts",
            "    ON               VALUE        LEVEL         NOW    LIMIT",
            ">!! messages         fill_p80     critical     0.97     0.90",
            "",
            "",
            "",
            "",
            "-- messages ------------------------------------------------",
            "messages is 97 % full, 90 % is critical",
            "",
            "",
            "q quit  ? help  / filter  <> sort  r reverse  space pause",
        ],
    );
}

#[test]
fn the_longest_turn_of_a_sponsor_is_told() {
    let mut state = state();
    state.act(Action::Tab(Tab::Sponsors));
    let wide = lines(&mut state, 120, 15);
    for words in [
        "PARKS   DEAD  WAIT P99     TURN OF",
        "40      7         -   2.30 s Counter",
    ] {
        assert!(wide.iter().any(|line| line.contains(words)), "{wide:#?}");
    }
}

#[test]
fn a_high_screen_has_a_line_for_the_actors_that_stand_out() {
    let mut snapshot = sample::snapshot();
    let group = snapshot
        .nodes
        .iter()
        .position(|node| node.name == "Counter");
    snapshot.nodes.swap(0, group.unwrap());
    snapshot.actors.push(ActorStatus {
        node: snapshot.nodes[0].id.clone(),
        name: "/user/slow#1".to_owned(),
        waiting: 12_500,
        busy: Some(0.97),
        ..ActorStatus::default()
    });
    let mut state = state_of(snapshot);
    let line = "12,500 wait for /user/slow#1; /user/slow#1 is busy for 97%";
    for (height, shows) in [(23, false), (24, true)] {
        let seen = lines(&mut state, 80, height);
        let at = seen.iter().position(|seen| seen == line);
        assert_eq!(at.is_some(), shows, "{seen:#?}");
        // The bar and the rate are shown on both.
        assert!(
            seen.iter().any(|line| line.starts_with("busy ")),
            "{seen:#?}"
        );
        assert!(
            seen.iter().any(|line| line.starts_with("50.0/s")),
            "{seen:#?}"
        );
    }
}

#[test]
fn a_terminal_that_is_too_small_says_so() {
    for (columns, height) in [(59, 15), (60, 14), (10, 3), (1, 1)] {
        let seen = lines(&mut state(), columns, height);
        let expected = format!("{columns}x{height} is too small: 60x15 is needed (q quits)");
        let text = crate::text::fit(&expected, usize::from(columns));
        assert_eq!(seen[0], text);
    }
}

#[test]
fn every_size_and_table_and_mode_can_be_drawn() {
    let mut wide = sample::snapshot();
    wide.nodes[0].name = "世界".repeat(40);
    wide.nodes[1].name = "שלום".repeat(40);
    wide.nodes[2].busy = Some(f64::INFINITY);
    wide.edges[0].rate = f64::NAN;
    wide.edges[1].rate = -1.0;
    wide.edges[0].fill = u64::MAX;
    wide.edges[0].capacity = 0;
    for snapshot in [sample::with_all(), Snapshot::default(), wide] {
        let mut state = state_of(snapshot);
        for columns in (1..70).chain([120, 500]) {
            for height in (1..30).chain([200]) {
                for tab in Tab::ALL {
                    state.act(Action::Tab(tab));
                    screen(&mut state, columns, height, Theme::COLORS);
                }
            }
            for mode in [Mode::Browse, Mode::Filter, Mode::Help] {
                state.mode = mode;
                screen(&mut state, columns, 15, Theme::COLORS);
            }
            state.mode = Mode::Browse;
        }
    }
}

/// Returns the style of the cells that contain `text`.
fn style_of(buffer: &Buffer, text: &str) -> (Color, Modifier) {
    let area = buffer.area;
    for y in 0..area.height {
        let line: Vec<_> = (0..area.width).map(|x| &buffer[(x, y)]).collect();
        let symbols: String = line.iter().map(|cell| cell.symbol()).collect();
        if let Some(at) = symbols.find(text) {
            let cell = line[symbols[..at].chars().count()];
            return (cell.fg, cell.modifier);
        }
    }
    panic!("no '{text}' on the screen");
}

#[test]
fn colors_say_what_signs_say() {
    let buffer = screen(&mut state(), 100, 20, Theme::COLORS);
    assert_eq!(style_of(&buffer, "worker   ").0, Color::Yellow);
    assert_eq!(style_of(&buffer, "logger"), (Color::Red, Modifier::BOLD));
    assert_eq!(style_of(&buffer, "Counter").0, Color::Reset);
    assert_eq!(style_of(&buffer, "!! 1 alert").0, Color::Red);
    assert_eq!(style_of(&buffer, "* live").0, Color::Green);
    let mut seen = lines(&mut state(), 100, 20).join("\n");
    seen.retain(|char| char != '\n');
    for sign in [" !  worker", " x  logger", "    Counter", ">   generator"] {
        assert!(seen.contains(sign), "{sign}: {seen}");
    }
}

#[test]
fn no_color_means_none() {
    let mut state = state();
    for tab in Tab::ALL {
        state.act(Action::Tab(tab));
        let buffer = screen(&mut state, 100, 30, Theme::PLAIN);
        for cell in buffer.content() {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
        }
    }
}

#[test]
fn wide_names_push_nothing_aside() {
    let mut snapshot = sample::snapshot();
    snapshot.nodes[0].name = "世界の名前はとても長いです".to_owned();
    snapshot.nodes[1].name = "שלום עולם".to_owned();
    snapshot.nodes[3].name = "e\u{301}te\u{301}".to_owned();
    let seen = lines(&mut state_of(snapshot), 60, 15);
    let column_of = |line: &String| {
        let (before, _) = line.split_once("161 M").expect("a rate");
        crate::text::width(before)
    };
    assert_eq!(column_of(&seen[5]), column_of(&seen[6]), "{seen:#?}");
    assert!(
        seen[5].contains('…') && seen[8].contains("e\u{301}te\u{301}"),
        "{seen:#?}"
    );
}

#[test]
fn a_lost_connection_and_a_pause_are_told() {
    let mut state = state();
    state.act(Action::Pause);
    state.hear(Word::Snapshot(Box::new(sample::snapshot())));
    assert!(lines(&mut state, 60, 15)[0].ends_with("= paused, 1 new"));
    let why = "no answer".to_owned();
    let wait = Duration::from_millis(500);
    state.hear(Word::Lost { why, wait });
    let seen = lines(&mut state, 80, 15);
    assert!(seen[0].ends_with("x lost"), "{seen:#?}");
    assert_eq!(
        seen[14],
        "no answer                                                  trying again in 0.5 s"
    );
}

#[test]
fn a_filter_is_seen_while_typed_and_after() {
    let mut state = state();
    state.act(Action::Edit);
    for letter in ['z', 'z'] {
        state.act(Action::Type(letter));
    }
    let seen = lines(&mut state, 60, 15);
    assert_eq!(
        seen[14],
        "/zz_                                 Enter keeps, Esc clears"
    );
    assert_eq!(seen[5], "    nothing here has 'zz' in it");
    state.act(Action::Keep);
    assert!(lines(&mut state, 60, 15)[14].ends_with("0 of 4 with 'zz'"));
}

#[test]
fn without_pipelines_there_is_no_line_for_them() {
    let mut snapshot = sample::snapshot();
    let other = snapshot.pipelines[0].clone();
    snapshot.pipelines.insert(0, Pipeline::default());
    snapshot.pipelines.push(other);
    let seen = lines(&mut state_of(snapshot.clone()), 100, 15);
    assert!(
        seen[2].starts_with("worker is the bottleneck: "),
        "{seen:#?}"
    );
    assert!(seen[2].ends_with(" 2 of 3 pipelines limited"), "{seen:#?}");
    snapshot.pipelines.clear();
    let seen = lines(&mut state_of(snapshot), 60, 15);
    assert!(seen[2].starts_with(" 1 Stages"), "{seen:#?}");
}

#[test]
fn the_help_names_every_key() {
    let mut state = state();
    state.act(Action::Help);
    let seen = lines(&mut state, 60, 15).join("\n");
    for (keys, what) in crate::keys::HELP {
        assert!(seen.contains(keys), "{keys}: {seen}");
        let what: String = what.chars().take(25).collect();
        assert!(seen.contains(&what), "{what}: {seen}");
    }
    assert!(seen.contains("!! critical"), "{seen}");
}

#[test]
fn the_line_of_rates_ends_with_the_newest() {
    let mut snapshot = sample::snapshot();
    let mut state = state_of(snapshot.clone());
    for rate in [0.0, 80.4e6, 160.8e6] {
        snapshot.nodes[0].rate = rate;
        state.hear(Word::Snapshot(Box::new(snapshot.clone())));
    }
    let seen = lines(&mut state, 60, 15);
    assert!(seen[13].ends_with(" █ ▄█"), "{seen:#?}");
}

#[test]
fn the_cursor_is_seen_wherever_it_goes() {
    let mut snapshot = sample::snapshot();
    for number in 0..1000 {
        let mut node = snapshot.nodes[0].clone();
        node.id = format!("m{number}");
        node.name = format!("member {number}");
        snapshot.nodes.push(node);
    }
    let mut state = state_of(snapshot);
    for (action, name) in [
        (Action::Last, "member 999"),
        (Action::Page(-1), "member 994"),
        (Action::Move(-1), "member 993"),
        (Action::First, "generator"),
        (Action::Page(1), "member 1"),
    ] {
        screen(&mut state, 60, 15, Theme::PLAIN);
        state.act(action);
        let seen = lines(&mut state, 60, 15);
        let row = format!(">   {name} ");
        assert!(
            seen.iter().any(|line| line.starts_with(&row)),
            "{row}: {seen:#?}"
        );
    }
}
