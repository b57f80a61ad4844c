//! Tests of the names and paths of actors: their format, their inheritance, and the places where
//! they appear.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::mem::size_of;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use garrick_actor::{Actor, ActorPath, Context, Failure, Local, Next, System, behavior};
use garrick_testkit::{fail, silence_panics};

/// An actor that records its path, or fails.
struct Child(Rc<RefCell<Vec<ActorPath>>>);

impl Actor for Child {
    type Msg = bool;
    type Outcome = ();

    fn receive(&mut self, fails: bool, cx: &mut Context<'_, bool>) {
        if fails {
            fail();
        }
        self.0.borrow_mut().push(cx.path());
    }

    fn name() -> &'static str {
        "a child"
    }
}

/// Creates a system on the current thread, and a list of its failures.
fn stand() -> (Local, Arc<Mutex<Vec<Failure>>>) {
    silence_panics();
    let failures = Arc::<Mutex<Vec<Failure>>>::default();
    let report = Arc::clone(&failures);
    let builder = System::builder().on_failure(move |failure| {
        report.lock().unwrap().push(failure.clone());
    });
    (builder.local().unwrap(), failures)
}

#[test]
fn a_path_has_the_name_and_a_number_of_its_own() {
    let (local, _) = stand();
    let paths = Rc::<RefCell<Vec<_>>>::default();
    for _ in 0..2 {
        let child = local
            .actor(Child(Rc::clone(&paths)))
            .stash(1)
            .named("child")
            .spawn();
        child.send(false).unwrap();
        local.run();
    }
    local.spawn(Child(Rc::clone(&paths))).send(false).unwrap();
    local.run();
    let paths = paths.take();
    let text = |index: usize| paths[index].as_str();
    assert!(text(0).starts_with("/user/child#"));
    assert!(text(1).starts_with("/user/child#"));
    assert_ne!(text(0), text(1));
    // The type of an actor without a name, and its id.
    assert!(text(2).starts_with("/user/a child@"));
}

#[test]
fn a_failure_names_the_actor_that_failed() {
    let (local, failures) = stand();
    let named = local.actor(Child(Rc::default())).named("child").spawn();
    let unnamed = local.spawn(Child(Rc::default()));
    named.send(true).unwrap();
    local.run();
    unnamed.send(true).unwrap();
    local.run();
    let failures = failures.lock().unwrap();
    assert_eq!(failures[0].task, "a child");
    let path = failures[0].path.as_ref().unwrap();
    assert!(path.as_str().starts_with("/user/child#"));
    let told = format!("the actor {path} (a child) failed: ");
    assert!(failures[0].to_string().starts_with(&told));
    assert_eq!(failures[1].path, None);
    assert!(
        failures[1]
            .to_string()
            .starts_with("the actor a child failed: ")
    );
}

#[test]
fn children_stand_below_their_parents() {
    let (local, failures) = stand();
    let parent = local
        .actor(behavior(|(): (), cx| {
            let failing = behavior(|(): (), _| fail());
            let child = cx.actor(failing).named("child").spawn();
            cx.send(&child, ()).unwrap();
            Next::Continue
        }))
        .named("parent")
        .spawn();
    parent.send(()).unwrap();
    local.run();
    let path = failures.lock().unwrap()[0].path.clone().unwrap();
    let parts: Vec<_> = path.as_str().split('/').collect();
    assert_eq!((parts.len(), parts[1]), (4, "user"));
    assert!(parts[2].starts_with("parent#") && parts[3].starts_with("child#"));
}

#[test]
fn a_system_names_actors_and_gives_them_back() {
    let system = System::new().unwrap();
    let named = system
        .actor(behavior(|(): (), _| Next::Stop))
        .named("one")
        .spawn();
    named.unwrap().send(()).unwrap();
    let handle = system.handle();
    system.shutdown();
    let refused = handle
        .actor(behavior(|(): (), _| Next::Stop))
        .named("two")
        .spawn();
    assert!(refused.is_err());
}

#[test]
fn a_name_that_would_be_read_as_a_path_is_refused() {
    let (local, failures) = stand();
    for name in ["", "a/b", "a#1", "a\nb"] {
        let spawner = local.spawn(behavior(move |(): (), cx| {
            cx.actor(behavior(|(): (), _| Next::Stop))
                .named(name)
                .spawn();
            Next::Continue
        }));
        spawner.send(()).unwrap();
        local.run();
        let failure = failures.lock().unwrap().pop().unwrap();
        assert!(failure.message.contains("the actor name"), "{name:?}");
    }
}

#[test]
fn a_path_is_a_counted_text() {
    assert_eq!(size_of::<ActorPath>(), 16);
}
