//! The tables of recent failures and of supervision trees.

use garrick::supervise::{Decision, Strategy, Supervisor};
use garrick::{Local, Next, System, behavior};
use serde_json::json;

use crate::browser::Screen;
use crate::watched::anywhere;
use crate::{LINK, OVERFLOW, next, open};

/// Texts of the rows of recent failures, without their times.
const FAILURES: &str = "[...document.querySelectorAll('#failures tbody tr')].map((row) => [...row.cells].slice(2, 6).map((cell) => cell.textContent.replace(/#\\d+/g, '')))";

/// Names and states in the tree.
const TREE: &str = "[...document.querySelectorAll('#tree .branch')].map((line) => line.children[0].textContent + ': ' + line.children[1].textContent)";

fn run(local: &Local) {
    (0..16).for_each(|_| local.run());
}

#[test]
fn failures_and_trees_are_shown_as_text_and_follow_their_changes() {
    let local = System::builder().name("shop").probes(true);
    let local = local.on_failure(|_| ()).local().expect("a worker");
    let telemetry = anywhere().start().expect("a free port");
    telemetry.watch(local.handle());
    telemetry.look();
    let page = open(&telemetry, Screen::WIDE);
    assert_eq!(
        page.eval("document.getElementById('failures-panel').hidden"),
        true
    );
    assert_eq!(
        page.eval("document.getElementById('tree-panel').hidden"),
        true
    );

    let tree = Supervisor::new("bank", Strategy::OneForOne);
    let tree = tree.spawn(&local.handle()).expect("a tree");
    let fails = || behavior(|(): (), cx| -> Next { cx.fail("<img src=x onerror=alert(1)>") });
    let teller = local.actor(fails).named("<b>teller").supervised_by(&tree);
    let teller = teller.spawn().expect("a child");
    let clerk = local.actor(fails).named("clerk").supervised_by(&tree);
    let clerk = clerk.decide(|_| Decision::Stop).spawn().expect("a child");
    run(&local);
    next(&page);
    page.wait(&format!("{TREE}.length === 3"));
    let all_run = json!(["bank: running", "<b>teller: running", "clerk: running"]);
    assert_eq!(page.eval(TREE), all_run);

    teller.send(()).expect("it lives");
    run(&local);
    clerk.send(()).expect("it lives");
    run(&local);
    page.wait(&format!("{TREE}[1] === 'clerk: given up'"));
    let reason = "<img src=x onerror=alert(1)>";
    assert_eq!(
        page.eval(FAILURES),
        json!([
            ["/user/bank/clerk", "not restarted", "", reason],
            ["/user/bank/<b>teller", "restarted", "1", reason],
        ])
    );
    let count = page.text("document.getElementById('tree-count').textContent");
    assert_eq!(count, "1 supervisor, 1 child, 0 not running, 1 restart");
    assert_eq!(
        page.eval("document.querySelectorAll('#tree b, #failures img').length"),
        0
    );
    page.keep("failures");
    page.show_on(Screen::PHONE);
    assert_eq!(page.eval(OVERFLOW), 0);
    page.keep("failures-phone");
    // The list is built again only if the tree has changed.
    page.eval("(window.branch = document.querySelector('#tree .branch')).className");
    next(&page);
    next(&page);
    assert_eq!(page.eval("branch.isConnected"), json!(true));
    page.eval("document.querySelector('#tree-box summary').focus()");
    page.keys(" ");
    page.wait("!document.getElementById('tree-box').open");
    assert_eq!(page.text(LINK), "live", "the space bar does not pause here");
    page.is_clean();
}
