//! Tests of the stacks of workers: a stack has the requested size, and impossible sizes are
//! refused.

use std::hint::black_box;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::{env, io, thread};

use garrick_sched::{
    Flow, Nanos, RealWorld, STACK_BYTES_MAX, STACK_BYTES_MIN, Sponsor, StartError, Task,
    ThreadSpec, Turn, World,
};

/// Calls itself `depth` times, and uses about 1 KiB of the stack for each call.
#[inline(never)]
fn dive(depth: u32) -> u64 {
    let room = black_box([u64::from(depth); 128]);
    match depth {
        0 => room[0],
        _ => dive(depth - 1) + black_box(&room)[64] % 2,
    }
}

/// A task that recurses to the depth in its message.
struct Diver;

impl Task for Diver {
    type Message = u32;

    fn receive(&mut self, depth: u32, _: &Turn<'_, u32>) -> Flow {
        assert_eq!(dive(depth), u64::from(depth.div_ceil(2)));
        println!("was {depth} deep");
        Flow::Continue
    }
}

/// The environment variable that sets the stack size of the worker in the child process. 0 stands
/// for the default of the standard library.
const STACK: &str = "GARRICK_TEST_STACK";

/// Number of recursive calls that do not fit into a stack of 2 MiB.
const DEEP: u32 = 8 * 1024;

/// Runs in a separate process for the test below, which may overflow the stack. Does nothing
/// otherwise.
#[test]
fn child() {
    let Ok(stack) = env::var(STACK) else { return };
    let builder = match stack.parse().unwrap() {
        0 => Sponsor::builder(),
        bytes => Sponsor::builder().stack_size(bytes),
    };
    let sponsor = builder.start().unwrap();
    let diver = sponsor.handle().spawn(Diver).unwrap();
    diver.send(DEEP).unwrap();
    drop(diver);
    sponsor.shutdown();
}

fn run_child(stack: usize) -> Output {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["child", "--exact", "--nocapture"])
        .env(STACK, stack.to_string())
        .env_remove("RUST_MIN_STACK");
    child.output().unwrap()
}

#[test]
fn a_handler_goes_deeper_on_a_larger_stack() {
    let deep = run_child(64 << 20);
    let said = String::from_utf8_lossy(&deep.stdout);
    assert!(deep.status.success(), "{deep:?}");
    assert!(said.contains(&format!("was {DEEP} deep")), "{said}");

    // This depth is too much for the default stack of a thread.
    let shallow = run_child(0);
    assert!(!shallow.status.success(), "{shallow:?}");
    let said = String::from_utf8_lossy(&shallow.stderr);
    assert!(said.contains("overflowed its stack"), "{said}");
}

#[test]
fn a_size_that_is_no_stack_is_refused() {
    for bytes in [0, 1, STACK_BYTES_MIN - 1, STACK_BYTES_MAX + 1, usize::MAX] {
        let error = Sponsor::builder().stack_size(bytes).start().unwrap_err();
        assert!(matches!(error, StartError::StackSize { bytes: asked } if asked == bytes));
        assert_eq!(
            error.to_string(),
            format!(
                "a worker cannot have a stack of {bytes} bytes: the size must be \
                 {STACK_BYTES_MIN} to {STACK_BYTES_MAX} bytes"
            )
        );
    }
    for bytes in [STACK_BYTES_MIN, STACK_BYTES_MIN + 1] {
        Sponsor::builder()
            .stack_size(bytes)
            .start()
            .unwrap()
            .shutdown();
    }
    let here = Sponsor::builder().stack_size(STACK_BYTES_MIN).here();
    assert!(matches!(here, Err(StartError::StackHere)));
}

/// A world that records the requested threads.
struct Asked(Arc<dyn World>, Mutex<Vec<ThreadSpec>>);

impl World for Asked {
    fn now(&self) -> Nanos {
        self.0.now()
    }

    fn seed(&self) -> u64 {
        self.0.seed()
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<thread::JoinHandle<()>> {
        self.1.lock().unwrap().push(spec.clone());
        self.0.spawn_thread(spec, body)
    }
}

#[test]
fn a_world_is_told_of_the_stack() {
    for stack in [None, Some(1 << 20)] {
        let world = Arc::new(Asked(RealWorld::shared(), Mutex::default()));
        let builder = Sponsor::builder()
            .name("deep")
            .workers(2)
            .world(world.clone());
        let builder = match stack {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        };
        builder.start().unwrap().shutdown();
        let asked = world.1.lock().unwrap();
        let names: Vec<_> = asked.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["deep-0", "deep-1"]);
        assert!(asked.iter().all(|spec| spec.stack_size == stack));
    }
}
