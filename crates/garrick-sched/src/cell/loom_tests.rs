//! Models of the cell protocol. Each drives the transitions of this folder as the worker does, with
//! small stand-ins for the run queue and the pool: blocks are never reused, and freeing one is
//! recorded in loom's own cell, so that loom reports every use that is not ordered before it.

use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;

use super::*;

const A: Home = Home::new(1);
const B: Home = Home::new(2);

unsafe fn never_run(_: CellPtr, _: NonNull<()>, _: *const Slot) {
    unreachable!("models run cells by hand");
}
unsafe fn no_task(_: CellPtr) {}
unsafe fn no_unread(_: &Envelope) -> u64 {
    0
}
unsafe fn no_split(_: NonNull<()>, envelope: *mut Envelope, _: u32) -> *mut Envelope {
    envelope
}
unsafe fn no_slot(_: NonNull<()>, _: *const Slot) -> bool {
    false
}

static TABLE: Table = Table {
    run: never_run,
    recover: None,
    moves: true,
    door: None,
    watched: None,
    drop_task: no_task,
    drop_unread: no_unread,
    split_newest: no_split,
    drop_slot: no_slot,
    dead: None,
    block_bytes: size_of::<Header>(),
    name: || "model",
};

/// A cell whose every use and end loom can see.
struct Model {
    header: Header,
    /// Read by whoever uses the cell, written by whoever frees it.
    alive: UnsafeCell<bool>,
    /// What the owner's plain fields are to loom: written at each use of them.
    owned: UnsafeCell<u32>,
    frees: AtomicUsize,
}

// SAFETY: what is plain is checked by loom.
unsafe impl Send for Model {}
// SAFETY: as above.
unsafe impl Sync for Model {}

impl Model {
    fn new(home: Home) -> Arc<Self> {
        Arc::new(Self {
            header: Header::newborn(&TABLE, home),
            alive: UnsafeCell::new(true),
            owned: UnsafeCell::new(0),
            frees: AtomicUsize::new(0),
        })
    }

    fn ptr(&self) -> CellPtr {
        CellPtr(NonNull::from(&self.header))
    }

    /// The cell is used by someone who has a right to.
    fn used(&self) {
        // SAFETY: loom checks that no write races with this read.
        self.alive
            .with(|alive| assert!(unsafe { *alive }, "used after it was freed"));
    }

    fn freed(&self) {
        // SAFETY: loom checks that no other use races with this write.
        self.alive
            .with_mut(|alive| unsafe { assert!(std::mem::replace(&mut *alive, false)) });
        self.frees.fetch_add(1, Relaxed);
    }

    /// The owner's fields are used.
    fn own(&self) {
        self.used();
        // SAFETY: loom checks that only the owner comes here.
        self.owned.with_mut(|count| unsafe { *count += 1 });
    }

    fn ended(&self) -> bool {
        self.frees.load(Relaxed) == 1
    }
}

/// An envelope that is leaked to loom's model and freed at its end by the list of its worker.
fn envelope(kind: Kind, number: u16) -> *mut Envelope {
    let envelope = Box::into_raw(Box::new(Envelope::new(kind, 0, u16::MAX)));
    // SAFETY: just made. The number travels in a field that counts messages.
    unsafe { (*envelope).set_read(number) };
    envelope
}

fn one(envelope: *mut Envelope) -> Chain {
    Chain {
        oldest: envelope,
        newest: envelope,
    }
}

/// The parts of a worker that the protocol needs.
struct Owner {
    home: Home,
    handled: Vec<u16>,
}

/// Homes of the model, by number.
#[derive(Default)]
struct Homes {
    a: Ready,
    b: Ready,
}

impl Homes {
    fn of(&self, home: Home) -> &Ready {
        if home == A { &self.a } else { &self.b }
    }
}

// SAFETY: the stacks are made for it.
unsafe impl Send for Homes {}
// SAFETY: as above.
unsafe impl Sync for Homes {}

/// As `address::deliver`.
fn deliver(homes: &Homes, cell: &Model, chain: Chain) -> bool {
    let header = &cell.header;
    cell.used();
    // SAFETY: as in production.
    unsafe {
        (*chain.oldest).set_token_of(Some(cell.ptr()));
        match header.push(chain) {
            Push::Token => {
                cell.used();
                let _ = homes.of(header.home()).push(chain.oldest);
                true
            }
            Push::Queued => true,
            Push::Closed => false,
        }
    }
}

/// As `address::release_foreign`.
fn release(homes: &Homes, cell: &Model) {
    loop {
        cell.used();
        match cell.header.drop_foreign() {
            Dropped::Counted => return,
            Dropped::LastOfOrphan => return cell.freed(),
            Dropped::WithOwner => {
                let note = envelope(Kind::Release, 0);
                if deliver(homes, cell, one(note)) {
                    return;
                }
                // SAFETY: it came back.
                drop(unsafe { Box::from_raw(note) });
            }
        }
    }
}

impl Owner {
    fn new(home: Home) -> Self {
        Self {
            home,
            handled: Vec::new(),
        }
    }

    /// As `Worker::take_ready` and `Worker::receive`, and then runs what was scheduled. True if there was
    /// anything.
    fn turn(&mut self, homes: &Homes, cell: &Model) -> bool {
        let carrier = homes.of(self.home).take();
        if carrier.is_null() {
            return false;
        }
        // SAFETY: alive until its inbox is taken.
        unsafe {
            assert!(
                (*carrier).ready_next().is_null(),
                "one cell is on the stack once"
            )
        };
        cell.own();
        assert_eq!(
            cell.header.home(),
            self.home,
            "a token goes to its cell's home"
        );
        if cell.header.has(flag::STOPPED) {
            let list = cell.header.take_and_hold();
            self.drop_inbox(homes, cell, list);
            self.close(homes, cell);
        } else {
            let list = cell.header.take_and_idle();
            self.sort_in(cell, list);
        }
        true
    }

    /// As `Worker::sort_in`, and then the activation.
    fn sort_in(&mut self, cell: &Model, list: *mut Envelope) {
        let mut releases = 0;
        // SAFETY: as in production.
        let mut list = unsafe { reverse(list) };
        while !list.is_null() {
            // SAFETY: ours since it was taken.
            let taken = unsafe { Box::from_raw(list) };
            list = taken.next();
            match taken.kind() {
                Kind::Release => releases += 1,
                _ => self.handled.push(taken.read()),
            }
        }
        for _ in 0..releases {
            cell.own();
            if cell.header.drop_local() {
                let _ = cell.header.settle();
            }
        }
        self.free_if_unreachable(cell);
    }

    fn free_if_unreachable(&self, cell: &Model) {
        cell.own();
        let header = &cell.header;
        if header.local_refs() == 0
            && header.settle() == Settled::Unreferenced
            && header.inbox_is_idle()
            && !header.has(flag::STOPPED)
        {
            cell.freed();
        }
    }

    /// The owner drops a reference of its own.
    fn drop_local(&self, cell: &Model) {
        cell.own();
        if cell.header.drop_local() {
            self.free_if_unreachable(cell);
        }
    }

    /// As `Worker::send` to a cell of its own: the number handled at once, or through the inbox.
    fn send(&mut self, homes: &Homes, cell: &Model, number: u16) {
        cell.own();
        if cell.header.inbox_is_idle() {
            self.handled.push(number);
        } else {
            assert!(deliver(homes, cell, one(envelope(Kind::Messages, number))));
        }
    }

    /// As `sponsor::idle::hand_over`.
    fn hand_over(&self, cell: &Model) -> bool {
        cell.own();
        if !cell.header.try_hold() {
            return false;
        }
        cell.header.share_refs();
        cell.header.set_home(Home::NOBODY);
        true
    }

    /// As `Worker::take_over`, and then the activation.
    fn take_over(&mut self, cell: &Model) {
        cell.own();
        cell.header.set_home(self.home);
        if cell.header.local_refs() == 0 {
            let _ = cell.header.settle();
        }
        let list = cell.header.take_and_idle();
        self.sort_in(cell, list);
    }

    /// As `Worker::stop`; false if the token is out.
    fn stop(&mut self, homes: &Homes, cell: &Model) -> bool {
        cell.own();
        cell.header.set(flag::STOPPED);
        let held = cell.header.try_hold();
        if held {
            self.close(homes, cell);
        }
        held
    }

    fn close(&mut self, homes: &Homes, cell: &Model) {
        cell.own();
        cell.header.orphan_refs();
        cell.header.set_home(Home::NOBODY);
        let list = cell.header.close();
        self.drop_inbox(homes, cell, list);
        release(homes, cell);
    }

    fn drop_inbox(&mut self, homes: &Homes, cell: &Model, mut list: *mut Envelope) {
        while !list.is_null() {
            // SAFETY: ours since it was taken.
            let taken = unsafe { Box::from_raw(list) };
            list = taken.next();
            if taken.kind() != Kind::Release {
                self.handled.push(taken.read());
            } else if cell.header.home() == self.home {
                cell.own();
                if cell.header.drop_local() {
                    let _ = cell.header.settle();
                }
            } else {
                release(homes, cell);
            }
        }
    }
}

/// Runs a model with the bound on preemptions that all of ours have.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

/// Gives the owner turns until `done`, yielding between them.
fn serve(owner: &mut Owner, homes: &Homes, cell: &Model, done: impl Fn(&Owner) -> bool) {
    while !done(owner) {
        if !owner.turn(homes, cell) {
            thread::yield_now();
        }
    }
}

#[test]
fn loom_local_send_against_foreign_sends() {
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        let mut owner = Owner::new(A);
        cell.header.clone_foreign();
        let sender = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                for number in [1, 2] {
                    assert!(deliver(
                        &homes,
                        &cell,
                        one(envelope(Kind::Messages, number))
                    ));
                }
                release(&homes, &cell);
            })
        };
        thread::yield_now();
        owner.send(&homes, &cell, 11);
        owner.turn(&homes, &cell);
        owner.send(&homes, &cell, 12);
        serve(&mut owner, &homes, &cell, |owner| owner.handled.len() == 4);
        sender.join().unwrap();
        while owner.turn(&homes, &cell) {}
        let of = |low: u16| {
            owner
                .handled
                .iter()
                .copied()
                .filter(move |n| n / 10 == low)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(0), [1, 2]);
        assert_eq!(of(1), [11, 12]);
        owner.drop_local(&cell);
        while owner.turn(&homes, &cell) {}
        assert!(cell.ended(), "nothing refers to it");
    });
}

#[test]
fn loom_token_and_ready_stack() {
    // Two senders: whoever finds the cell idle notifies, exactly one of them each time.
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        let mut owner = Owner::new(A);
        let senders: Vec<_> = [1, 2]
            .into_iter()
            .map(|number| {
                cell.header.clone_foreign();
                let (homes, cell) = (homes.clone(), cell.clone());
                thread::spawn(move || {
                    assert!(deliver(
                        &homes,
                        &cell,
                        one(envelope(Kind::Messages, number))
                    ));
                    release(&homes, &cell);
                })
            })
            .collect();
        thread::yield_now();
        serve(&mut owner, &homes, &cell, |owner| owner.handled.len() == 2);
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        while owner.turn(&homes, &cell) {}
        assert!(cell.header.inbox_is_idle(), "the token is back");
        owner.drop_local(&cell);
        while owner.turn(&homes, &cell) {}
        assert!(cell.ended());
    });
}

/// The shared queue of the models: one place.
#[derive(Default)]
struct Shared {
    given: loom::sync::Mutex<bool>,
}

#[test]
fn loom_publish_and_claim_against_send() {
    check(|| {
        let (homes, cell, shared) = (
            Arc::new(Homes::default()),
            Model::new(A),
            Arc::new(Shared::default()),
        );
        cell.header.clone_foreign();
        let sender = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                assert!(deliver(&homes, &cell, one(envelope(Kind::Messages, 1))));
                assert!(deliver(&homes, &cell, one(envelope(Kind::Messages, 2))));
                release(&homes, &cell);
            })
        };
        let other = {
            let (homes, cell, shared) = (homes.clone(), cell.clone(), shared.clone());
            thread::spawn(move || {
                let mut owner = Owner::new(B);
                if std::mem::take(&mut *shared.given.lock().unwrap()) {
                    owner.take_over(&cell);
                }
                owner.turn(&homes, &cell);
                owner
            })
        };
        let mut first = Owner::new(A);
        first.turn(&homes, &cell);
        if first.hand_over(&cell) {
            *shared.given.lock().unwrap() = true;
        }
        first.turn(&homes, &cell);
        sender.join().unwrap();
        let mut second = other.join().unwrap();
        if std::mem::take(&mut *shared.given.lock().unwrap()) {
            second.take_over(&cell);
        }
        while first.turn(&homes, &cell) || second.turn(&homes, &cell) {}
        let mut handled = first.handled.clone();
        handled.extend(&second.handled);
        assert_eq!(
            handled,
            [1, 2],
            "all, once and in order, wherever the cell was"
        );
        let home = cell.header.home();
        let last = if home == A { &mut first } else { &mut second };
        last.drop_local(&cell);
        while last.turn(&homes, &cell) {}
        assert!(cell.ended());
    });
}

#[test]
fn loom_a_sender_that_migrates_keeps_its_order() {
    // The sender sends 1 from elsewhere, comes to the receiver's home through a lock, and sends 2.
    check(|| {
        let (homes, cell, shared) = (
            Arc::new(Homes::default()),
            Model::new(A),
            Arc::new(Shared::default()),
        );
        cell.header.clone_foreign();
        let sender = {
            let (homes, cell, shared) = (homes.clone(), cell.clone(), shared.clone());
            thread::spawn(move || {
                assert!(deliver(&homes, &cell, one(envelope(Kind::Messages, 1))));
                *shared.given.lock().unwrap() = true;
            })
        };
        let mut owner = Owner::new(A);
        thread::yield_now();
        owner.turn(&homes, &cell);
        let mut sent = false;
        while !sent {
            if *shared.given.lock().unwrap() {
                owner.send(&homes, &cell, 2);
                sent = true;
            } else {
                thread::yield_now();
            }
        }
        sender.join().unwrap();
        while owner.turn(&homes, &cell) {}
        assert_eq!(owner.handled, [1, 2]);
        release(&homes, &cell);
        while owner.turn(&homes, &cell) {}
        owner.drop_local(&cell);
        assert!(cell.ended());
    });
}

#[test]
fn loom_last_reference_dropped_here_and_there() {
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        // The one reference that the owner counts goes to a foreign thread, which clones it.
        let holder = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                cell.used();
                cell.header.clone_foreign();
                release(&homes, &cell);
                release(&homes, &cell);
            })
        };
        // And the owner makes one of its own meanwhile.
        let mut owner = Owner::new(A);
        cell.own();
        cell.header.clone_local();
        thread::yield_now();
        owner.turn(&homes, &cell);
        owner.drop_local(&cell);
        holder.join().unwrap();
        while owner.turn(&homes, &cell) {}
        assert!(cell.ended(), "the last one frees it, exactly once");
    });
}

#[test]
fn loom_last_reference_dropped_with_the_token_out() {
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        cell.header.clone_foreign();
        let sender = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                assert!(deliver(&homes, &cell, one(envelope(Kind::Messages, 1))));
                release(&homes, &cell);
            })
        };
        let mut owner = Owner::new(A);
        thread::yield_now();
        owner.drop_local(&cell);
        serve(&mut owner, &homes, &cell, |owner| !owner.handled.is_empty());
        sender.join().unwrap();
        while owner.turn(&homes, &cell) {}
        assert_eq!(owner.handled, [1]);
        assert!(
            cell.ended(),
            "what is sent is handled before the cell is freed"
        );
    });
}

#[test]
fn loom_references_of_a_cell_that_is_given_away() {
    check(|| {
        let (homes, cell, shared) = (
            Arc::new(Homes::default()),
            Model::new(A),
            Arc::new(Shared::default()),
        );
        let holder = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || release(&homes, &cell))
        };
        let other = {
            let (homes, cell, shared) = (homes.clone(), cell.clone(), shared.clone());
            thread::spawn(move || {
                let mut owner = Owner::new(B);
                if std::mem::take(&mut *shared.given.lock().unwrap()) {
                    owner.take_over(&cell);
                }
                while owner.turn(&homes, &cell) {}
                owner
            })
        };
        let mut first = Owner::new(A);
        // A scheduled cell, which is why it may be given away with no reference of the owner's.
        if !cell.ended() && first.hand_over(&cell) {
            *shared.given.lock().unwrap() = true;
        } else {
            while first.turn(&homes, &cell) {}
        }
        holder.join().unwrap();
        let mut second = other.join().unwrap();
        if std::mem::take(&mut *shared.given.lock().unwrap()) {
            second.take_over(&cell);
        }
        while first.turn(&homes, &cell) || second.turn(&homes, &cell) {}
        assert!(cell.ended());
    });
}

#[test]
fn loom_shutdown_against_send() {
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        let sender = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                let letter = envelope(Kind::Messages, 1);
                let sent = deliver(&homes, &cell, one(letter));
                if !sent {
                    // SAFETY: it came back.
                    drop(unsafe { Box::from_raw(letter) });
                }
                // The reference is the one that the owner had counted.
                release(&homes, &cell);
                sent
            })
        };
        let mut owner = Owner::new(A);
        thread::yield_now();
        if !owner.stop(&homes, &cell) {
            // The token is on its way: wait for it, as the end of a worker does.
            while !owner.turn(&homes, &cell) {
                thread::yield_now();
            }
        }
        let sent = sender.join().unwrap();
        assert!(
            !owner.turn(&homes, &cell),
            "nothing can come after it is closed"
        );
        assert_eq!(
            owner.handled.len(),
            usize::from(sent),
            "given back or counted, never both"
        );
        assert!(cell.ended(), "freed by whoever was last");
    });
}

#[test]
fn loom_no_wake_up_is_lost() {
    // A foreign sender against a worker that goes to sleep.
    check(|| {
        let (homes, cell) = (Arc::new(Homes::default()), Model::new(A));
        cell.header.clone_foreign();
        let sleeper = thread::current();
        let sender = {
            let (homes, cell) = (homes.clone(), cell.clone());
            thread::spawn(move || {
                let letter = envelope(Kind::Messages, 1);
                // SAFETY: as in `deliver`.
                unsafe {
                    (*letter).set_token_of(Some(cell.ptr()));
                    assert_eq!(cell.header.push(one(letter)), Push::Token);
                    if homes.a.push(letter) == Notice::Unpark {
                        sleeper.unpark();
                    }
                }
                release(&homes, &cell);
            })
        };
        let mut owner = Owner::new(A);
        while owner.handled.is_empty() {
            if !owner.turn(&homes, &cell) && homes.a.try_park() {
                while homes.a.is_parked() {
                    thread::park();
                }
            }
        }
        sender.join().unwrap();
        while owner.turn(&homes, &cell) {}
        owner.drop_local(&cell);
        assert!(cell.ended());
    });
}

#[test]
fn loom_published_work_is_seen_or_the_sleeper_is_woken() {
    // The two fences of `sponsor::idle` and `Shared::publish`.
    check(|| {
        let ready = Arc::new(Ready::default());
        let queued = Arc::new(AtomicUsize::new(0));
        let sleeper = thread::current();
        let giver = {
            let (ready, queued) = (ready.clone(), queued.clone());
            thread::spawn(move || {
                queued.store(1, Relaxed);
                loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
                if ready.unpark() {
                    sleeper.unpark();
                }
            })
        };
        assert!(ready.try_park());
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
        if queued.load(Relaxed) == 0 {
            while ready.is_parked() {
                thread::park();
            }
            assert_eq!(queued.load(Relaxed), 1);
        } else if !ready.unpark() {
            // The giver takes the mark away and will unpark us; that must not disturb the join below.
            thread::park();
        }
        giver.join().unwrap();
    });
}
