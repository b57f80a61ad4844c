//! Tests of the state of the screen after keys and after messages from the process.
use super::*;
use crate::sample;
use garrick_telemetry::{HistoryReport, Series};

/// Creates a state whose rows are in the order of the snapshot.
fn state() -> State {
    let mut state = State::new("http://127.0.0.1:9900".to_owned());
    state.views.iter_mut().for_each(|view| view.sort = None);
    state.hear(Word::Snapshot(Box::new(sample::snapshot())));
    state
}

fn ids(state: &State) -> Vec<&str> {
    state.rows.iter().map(|row| &*row.id).collect()
}

fn chosen(state: &State) -> &str {
    &state.chosen().unwrap().id
}

fn act(state: &mut State, actions: &[Action]) {
    for action in actions {
        assert_eq!(state.act(*action), Next::Draw, "{action:?}");
    }
}

fn type_in(state: &mut State, text: &str) {
    text.chars()
        .for_each(|letter| act(state, &[Action::Type(letter)]));
}

#[test]
fn rows_sort_by_each_column_and_back_to_none() {
    let mut state = state();
    assert_eq!(ids(&state), ["n0", "n1", "n2", "n3"]);
    act(&mut state, &[Action::Sort(1)]);
    assert_eq!(ids(&state), ["n3", "n0", "n2", "n1"], "names go up");
    act(&mut state, &[Action::Reverse]);
    assert_eq!(ids(&state), ["n1", "n2", "n0", "n3"]);
    act(&mut state, &[Action::Sort(5)]);
    assert_eq!(state.view().sort, Some((5, true)), "figures go down");
    assert_eq!(ids(&state), ["n1", "n0", "n3", "n2"]);
    act(&mut state, &[Action::Sort(-6)]);
    assert_eq!(state.view().sort, None);
    act(&mut state, &[Action::Sort(-1)]);
    assert_eq!(
        state.view().sort,
        Some((Tab::Nodes.columns().len() - 1, true))
    );
}

#[test]
fn rows_are_sorted_by_load_at_first() {
    let mut state = State::new(String::new());
    state.hear(Word::Snapshot(Box::new(sample::snapshot())));
    assert_eq!(ids(&state), ["n1", "n0", "n3", "n2"], "the busiest first");
    act(&mut state, &[Action::Tab(Tab::Channels)]);
    assert_eq!(ids(&state), ["e1", "e0"], "the fullest first");
    act(&mut state, &[Action::Tab(Tab::Alerts)]);
    assert_eq!(state.view().sort, None);
    for tab in Tab::ALL {
        let sorted = tab
            .load_column()
            .map(|column| tab.columns()[column].is_figure);
        assert_ne!(sorted, Some(false), "{tab:?}");
    }
}

#[test]
fn the_past_of_the_process_is_shown_at_once() {
    let mut state = state();
    state.hear(Word::History(HistoryReport {
        series: vec![Series {
            id: "n0".to_owned(),
            probe: "rate".to_owned(),
            values: vec![Some(1.0), Some(2.0)],
        }],
        ..HistoryReport::default()
    }));
    let shown: Vec<f32> = state.scene().history.of("n0").collect();
    assert_eq!(shown, [160.8e6, 2.0, 1.0]);
}

#[test]
fn the_past_is_shown_once_after_a_lost_connection() {
    let mut state = state();
    let report = |values: &[f32]| {
        let values = values.iter().copied().map(Some).collect();
        Word::History(HistoryReport {
            series: vec![Series {
                id: "n0".to_owned(),
                probe: "rate".to_owned(),
                values,
            }],
            ..HistoryReport::default()
        })
    };
    state.hear(report(&[1.0]));
    state.hear(Word::Snapshot(Box::new(sample::snapshot())));
    // The process has recorded the rate of the snapshot before.
    state.hear(report(&[1.0, 160.8e6]));
    let shown: Vec<f32> = state.scene().history.of("n0").collect();
    assert_eq!(shown, [160.8e6, 160.8e6, 1.0]);
}

#[test]
fn the_cursor_stays_with_its_row() {
    let mut state = state();
    act(&mut state, &[Action::Move(1), Action::Sort(6)]);
    assert_eq!(chosen(&state), "n1");
    let mut snapshot = sample::snapshot();
    snapshot.nodes[1].busy = Some(0.0);
    state.hear(Word::Snapshot(Box::new(snapshot.clone())));
    assert_eq!(chosen(&state), "n1");
    snapshot.nodes.remove(1);
    state.hear(Word::Snapshot(Box::new(snapshot)));
    assert_eq!(state.rows.len(), 3);
    assert_ne!(
        chosen(&state),
        "n1",
        "a row that is gone gives the cursor to another"
    );
    act(&mut state, &[Action::Last, Action::Move(5)]);
    assert_eq!(state.view().cursor, 2);
    act(&mut state, &[Action::First, Action::Move(-5)]);
    assert_eq!(state.view().cursor, 0);
}

#[test]
fn filters_narrow_as_they_are_typed() {
    let mut state = state();
    act(&mut state, &[Action::Edit]);
    type_in(&mut state, "WORk");
    assert_eq!(ids(&state), ["n1"]);
    act(&mut state, &[Action::Erase, Action::Erase, Action::Keep]);
    assert_eq!((state.mode, ids(&state)), (Mode::Browse, vec!["n1"]));
    act(&mut state, &[Action::Tab(Tab::Channels)]);
    assert_eq!(ids(&state), ["e0"], "the filter is for all tables");
    act(&mut state, &[Action::Edit, Action::Back]);
    assert_eq!((state.mode, state.rows.len()), (Mode::Browse, 2));
    type_in(&mut state, "nothing has this name");
    assert!(state.chosen().is_none());
    act(
        &mut state,
        &[Action::Move(1), Action::Page(1), Action::Last],
    );
    type_in(&mut state, &"x".repeat(1000));
    assert_eq!(state.filter.chars().count(), FILTER_MAX);
}

#[test]
fn a_pause_holds_the_picture_and_its_end_shows_the_newest() {
    let mut state = state();
    act(&mut state, &[Action::Pause]);
    let mut snapshot = sample::snapshot();
    snapshot.nodes.clear();
    snapshot.uptime += 1.0;
    state.hear(Word::Snapshot(Box::new(snapshot)));
    assert!(state.is_paused());
    assert_eq!((state.rows.len(), state.unseen), (4, 1));
    assert_eq!(state.scene().history.of("e0").count(), 1);
    act(&mut state, &[Action::Sort(1)]);
    assert_eq!(state.rows.len(), 4, "what is held can be sorted");
    act(&mut state, &[Action::Pause]);
    assert_eq!((state.rows.len(), state.unseen), (0, 0));
    assert_eq!(
        state.scene().history.of("e0").count(),
        2,
        "the line has no gap"
    );
}

#[test]
fn a_lost_process_is_told_of_and_another_one_begins_anew() {
    let mut state = state();
    let why = "nothing listens".to_owned();
    let wait = Duration::from_secs(1);
    state.hear(Word::Lost { why, wait });
    assert!(matches!(&state.link, Link::Lost { why, .. } if why == "nothing listens"));
    assert_eq!(state.rows.len(), 4, "what was known stays");
    let mut snapshot = sample::snapshot();
    snapshot.process.pid += 1;
    state.hear(Word::Snapshot(Box::new(snapshot.clone())));
    assert_eq!(state.link, Link::Live);
    assert_eq!(state.scene().history.of("n0").count(), 1);
    snapshot.uptime = 0.0;
    state.hear(Word::Snapshot(Box::new(snapshot)));
    assert_eq!(
        state.scene().history.of("n0").count(),
        1,
        "the number of a process can come again"
    );
}

#[test]
fn tables_follow_one_another_and_keep_their_cursor() {
    let mut state = state();
    act(&mut state, &[Action::Move(2), Action::NextTab(1)]);
    assert_eq!((state.tab, chosen(&state)), (Tab::Channels, "e0"));
    act(&mut state, &[Action::NextTab(1), Action::NextTab(1)]);
    assert_eq!(state.tab, Tab::Alerts);
    act(&mut state, &[Action::NextTab(1)]);
    assert_eq!((state.tab, chosen(&state)), (Tab::Nodes, "n2"));
    act(&mut state, &[Action::NextTab(-1)]);
    assert_eq!(state.tab, Tab::Alerts);
}

#[test]
fn the_table_of_metrics_is_offered_if_there_are_any() {
    let mut state = state();
    act(&mut state, &[Action::Tab(Tab::Metrics)]);
    assert_eq!(state.tab, Tab::Nodes);
    state.hear(Word::Snapshot(Box::new(sample::with_metrics())));
    act(&mut state, &[Action::Tab(Tab::Metrics)]);
    assert_eq!((state.tab, state.rows.len()), (Tab::Metrics, 3));
    // The process was started again, and has recorded nothing yet.
    state.hear(Word::Snapshot(Box::new(sample::snapshot())));
    assert_eq!((state.tab, state.rows.len()), (Tab::Metrics, 0));
    act(&mut state, &[Action::NextTab(1)]);
    assert_eq!(state.tab, Tab::Nodes);
}

#[test]
fn the_table_of_journals_is_offered_if_there_are_any() {
    let mut state = state();
    act(&mut state, &[Action::Tab(Tab::Journals)]);
    assert_eq!(state.tab, Tab::Nodes);
    // There are journals, and no metrics and clusters.
    state.hear(Word::Snapshot(Box::new(Snapshot {
        metrics: Vec::new(),
        members: Vec::new(),
        links: Vec::new(),
        kinds: Vec::new(),
        ..sample::with_all()
    })));
    act(&mut state, &[Action::Tab(Tab::Alerts), Action::NextTab(1)]);
    assert_eq!((state.tab, chosen(&state)), (Tab::Journals, "j0"));
    act(&mut state, &[Action::NextTab(1)]);
    assert_eq!(state.tab, Tab::Nodes);
    act(&mut state, &[Action::NextTab(-1), Action::NextTab(-1)]);
    assert_eq!(state.tab, Tab::Alerts);
}

#[test]
fn the_tables_of_a_cluster_are_offered_if_they_have_rows() {
    let mut state = state();
    act(&mut state, &[Action::Tab(Tab::Links)]);
    assert_eq!(state.tab, Tab::Nodes);
    // A node without entities has links only.
    state.hear(Word::Snapshot(Box::new(Snapshot {
        members: Vec::new(),
        kinds: Vec::new(),
        ..sample::with_all()
    })));
    act(
        &mut state,
        &[Action::Tab(Tab::Journals), Action::NextTab(1)],
    );
    assert_eq!((state.tab, chosen(&state)), (Tab::Links, "l"));
    act(&mut state, &[Action::NextTab(1)]);
    assert_eq!(state.tab, Tab::Nodes);
}

#[test]
fn the_cursor_is_on_the_page() {
    let mut state = state();
    assert_eq!(state.scroll(2), 0);
    act(&mut state, &[Action::Page(1)]);
    assert_eq!((state.view().cursor, state.scroll(2)), (2, 1));
    act(&mut state, &[Action::Last]);
    assert_eq!(state.scroll(2), 2);
    act(&mut state, &[Action::Move(-1)]);
    assert_eq!(
        state.scroll(2),
        2,
        "the page stays while the cursor is on it"
    );
    act(&mut state, &[Action::First]);
    assert_eq!(state.scroll(2), 0);
    act(&mut state, &[Action::Last]);
    assert_eq!(
        (state.scroll(2), state.scroll(10)),
        (2, 0),
        "a taller page is filled"
    );
    assert_eq!(
        (state.scroll(0), state.page),
        (3, 1),
        "there is always room for one"
    );
}

#[test]
fn back_leaves_one_thing_at_a_time() {
    let mut state = state();
    act(&mut state, &[Action::Help, Action::Back]);
    assert_eq!(state.mode, Mode::Browse);
    assert_eq!(state.act(Action::Back), Next::Quit);
    assert_eq!(state.act(Action::Quit), Next::Quit);
}
