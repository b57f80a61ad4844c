//! Tests `#[garrick::actor]` on methods that a condition (`#[cfg]`) removes.

use garrick::prelude::*;

/// Returns the answer to `ask` after the actors of `local` have run.
fn answer<R>(local: &Local, ask: garrick::Ask<R>) -> Result<R, NoReply> {
    local.run();
    ask.wait()
}

/// An actor whose parameter is only in messages with a condition.
struct Store<T> {
    kept: Vec<T>,
}

#[garrick::actor]
impl<T: Clone + Send + 'static> Store<T> {
    fn count(&self) -> usize {
        self.kept.len()
    }

    #[cfg(not(test))]
    fn put(&mut self, value: T) {
        self.kept.push(value);
    }

    #[cfg(test)]
    fn first(&self) -> Option<T> {
        self.kept.first().cloned()
    }
}

/// An actor whose parameter is in no message, after a condition has removed the only one.
struct Bin<T> {
    kept: Vec<T>,
}

#[garrick::actor]
impl<T: Send + 'static> Bin<T> {
    fn count(&self) -> usize {
        self.kept.len()
    }

    #[cfg_attr(test, cfg(not(test)))]
    fn put(&mut self, value: T) {
        self.kept.push(value);
    }
}

#[test]
fn a_parameter_may_be_in_conditional_messages_only() {
    let local = Local::new().unwrap();
    let store: StoreHandle<u8> = local.spawn(Store { kept: vec![7] }).into();
    assert_eq!(answer(&local, store.first()), Ok(Some(7)));
    assert_eq!(answer(&local, store.count()), Ok(1));
    let bin: BinHandle<u8> = local.spawn(Bin { kept: vec![1, 2] }).into();
    assert_eq!(answer(&local, bin.count()), Ok(2));
}

/// An actor that starts in a different way under each condition.
struct Starts(&'static str);

#[garrick::actor]
impl Starts {
    #[cfg(not(test))]
    #[actor(started)]
    fn begin(&mut self, _: &mut Context<'_, StartsMsg>) -> Next {
        Next::Stop
    }

    #[cfg(test)]
    #[actor(started)]
    fn begin(&mut self) {
        self.0 = "in a test";
    }

    fn how(&self) -> &'static str {
        self.0
    }
}

#[test]
fn a_start_may_depend_on_a_condition() {
    let local = Local::new().unwrap();
    let starts = StartsHandle::new(local.spawn(Starts("not at all")));
    assert_eq!(answer(&local, starts.how()), Ok("in a test"));
}
