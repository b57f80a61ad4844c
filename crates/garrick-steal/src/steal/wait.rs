//! Lets a thread or a future wait until the channel contains a value, or has room for a value.
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use garrick_core::park::{Parker, Spin};
use garrick_core::prim::{hint, thread};
use garrick_core::quiet;

use super::{
    TryRecvError,
    bell::{Bell, Call, Sleeper, Ticket},
    shared::{Shared, Verdict},
};
use crate::queue::{PopTimeoutError, SendError, TrySendError};

/// Number of failed searches after which a thread yields its core between two searches, instead of
/// spinning. If so many searches fail although the channel is not empty, a thread that moves values
/// may have been preempted, and needs a core.
const LOOKS_MAX: usize = if cfg!(garrick_loom) { 0 } else { 64 };

/// Number of times that a thread yields its core before it parks. If there are few cores, a value
/// often arrives while the thread yields, which saves a wake-up.
const YIELDS_MAX: usize = if cfg!(garrick_loom) { 0 } else { 2 };

/// Number of searches in one poll of a future. If all of them fail although the channel is not
/// empty, the future lets its executor run other tasks, and is polled again.
const SEARCHES_MAX: usize = if cfg!(garrick_loom) { 2 } else { 8 };

/// A handle that searches for values.
pub(super) trait Hunter<T> {
    /// Searches every deque and the global queue once. Takes a value if it finds one.
    fn look(&mut self) -> Option<T>;

    /// Checks whether all deques and the global queue were empty at one moment.
    fn verdict(&mut self) -> Verdict;

    fn shared(&self) -> &Shared<T>;

    /// Searches until it finds a value, or until the whole channel was empty at one moment.
    #[cold]
    fn try_take(&mut self) -> Result<T, TryRecvError> {
        let mut attempt = 0;
        loop {
            if let Some(value) = self.look() {
                return Ok(value);
            }
            match self.verdict() {
                Verdict::Empty => return Err(TryRecvError::Empty),
                Verdict::Closed => return Err(TryRecvError::Closed),
                Verdict::Unclear => back_off(attempt, self.shared().places.len()),
            }
            attempt += 1;
        }
    }
}

/// A handle that sends values.
pub(super) trait Supplier<T> {
    fn try_send(&mut self, value: T) -> Result<(), TrySendError<T>>;

    /// Checks for room after this thread was added to the list of waiting senders with `ticket`. If
    /// the result is false, each thread that makes room later wakes a sender that can use it.
    fn has_room(&mut self, ticket: Ticket) -> bool;
}

/// The means by which a handle waits: a parker, and a limit for spinning.
pub(super) struct Waiter {
    parker: Parker,
    spin: Spin,
}

/// Spins between two searches, for as long as `BeamDequeChannel` of zig-beam does. The duration
/// grows with each attempt, up to a limit that depends on the number of workers. With at most two
/// workers, there is no spinning. After many attempts, yields the core instead.
fn back_off(attempt: usize, workers: usize) {
    if !(0..LOOKS_MAX).contains(&attempt) {
        thread::yield_now();
        return;
    }
    if workers > 2 {
        (0..(attempt + 1).min(workers / 2)).for_each(|_| hint::spin_loop());
    }
}

impl Waiter {
    pub(super) fn new() -> Self {
        Self {
            parker: Parker::new(),
            spin: Spin::new(1),
        }
    }

    /// Waits until there is a value, and receives it. If `timeout` is `Some`, waits no longer than
    /// this time.
    #[cold]
    pub(super) fn recv<T>(
        &mut self,
        hunter: &mut impl Hunter<T>,
        timeout: Option<Duration>,
    ) -> Result<T, PopTimeoutError> {
        // A timeout beyond the range of the clock counts as no timeout.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut call = Call::None;
        let received = self.search(hunter, deadline, &mut call);
        let shared = hunter.shared();
        shared.bell.answer(call, || shared.has_work());
        received
    }

    /// Alternates between searching for a value and sleeping, until it receives a value, the
    /// channel is closed and empty, or `deadline` has passed. A search may miss a value that is
    /// being moved between two queues. This does no harm, because the thread that moves the value
    /// wakes a waiting receiver. On return, `call` tells whether this thread was woken for a value.
    fn search<T>(
        &mut self,
        hunter: &mut impl Hunter<T>,
        deadline: Option<Instant>,
        call: &mut Call,
    ) -> Result<T, PopTimeoutError> {
        loop {
            if let Some(value) = self.look_a_while(hunter) {
                return Ok(value);
            }
            if hunter.shared().is_settled() {
                return hunter.try_take().map_err(|_| PopTimeoutError::Closed);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(PopTimeoutError::Timeout);
            }
            let shared = hunter.shared();
            if shared.has_work() {
                // There is a value, but another thread needs a core to finish its move.
                thread::yield_now();
            } else {
                let is_disturbed = |_| shared.is_disturbed();
                *call = self.sleep(shared, &shared.bell, *call, left, is_disturbed);
            }
        }
    }

    /// Searches for a value several times. Between the searches, spins at first if there are spare
    /// cores, and later yields the core.
    fn look_a_while<T>(&mut self, hunter: &mut impl Hunter<T>) -> Option<T> {
        let awake = hunter
            .shared()
            .places
            .len()
            .saturating_sub(hunter.shared().bell.waiting());
        self.spin.set_threads_running(awake.saturating_sub(1));
        if let Some(value) = self.spin.wait(|| hunter.look()) {
            return Some(value);
        }
        (0..YIELDS_MAX).find_map(|_| {
            thread::yield_now();
            hunter.look()
        })
    }

    /// Sends `value`. Parks while there is no room.
    #[cold]
    pub(super) fn send<T>(
        &mut self,
        shared: &Shared<T>,
        supplier: &mut impl Supplier<T>,
        mut value: T,
    ) -> Result<(), SendError<T>> {
        let mut search = RoomSearch {
            shared,
            call: Call::None,
        };
        loop {
            value = match supplier.try_send(value) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(value)) => return Err(SendError(value)),
                Err(TrySendError::Full(value)) => value,
            };
            let is_disturbed = |ticket| shared.is_settled() || supplier.has_room(ticket);
            search.call = self.sleep(shared, &shared.room, search.call, None, is_disturbed);
        }
    }

    /// Sleeps until `bell` wakes this thread. If `left` is `Some`, sleeps no longer than this time.
    /// Does not sleep if `is_disturbed` returns true after the thread was added to the list of
    /// waiters. `call` is the result of the previous sleep. The result tells whether the thread was
    /// woken. A woken thread that does not sleep again counts as woken until its search is over.
    fn sleep<T>(
        &mut self,
        shared: &Shared<T>,
        bell: &Bell,
        call: Call,
        left: Option<Duration>,
        is_disturbed: impl FnOnce(Ticket) -> bool,
    ) -> Call {
        let ticket = bell.enlist(Sleeper::Thread(self.parker.unparker()), call);
        // Pairs with the light fence in `Shared::announce`.
        shared.fence.heavy();
        let is_disturbed = is_disturbed(ticket);
        if !is_disturbed {
            match left {
                None => self.parker.park(),
                // The result does not matter: the caller looks again, and then at the clock.
                Some(left) => _ = self.parker.park_timeout(left),
            }
        }
        // What disturbs us may have come while we were searching, so that no one else was woken for
        // it: we still have to answer for it.
        let otherwise = if is_disturbed { call } else { Call::None };
        // A token that came too late to be taken only makes the next sleep short.
        bell.withdraw(ticket, Call::Thread, otherwise)
    }
}

/// Search of a sender for room. Ends when it is dropped, even if the sender panics, for example
/// because a queue cannot grow. Otherwise the sender would count as searching for ever, and no
/// other sender would be woken.
struct RoomSearch<'a, T> {
    shared: &'a Shared<T>,
    call: Call,
}

impl<T> Drop for RoomSearch<'_, T> {
    fn drop(&mut self) {
        let shared = self.shared;
        // Runs no foreign code: only threads wait for room.
        (shared.room).answer(self.call, || shared.global.has_room());
    }
}

/// A future that receives a value. Created by `recv_async`. The future resolves to `None` if the
/// channel is closed and empty.
///
/// # Cancel safety
///
/// If the future is dropped, no value is lost, because the future takes a value only in the poll
/// that returns `Ready`. If the future was woken for a value and has not taken it, dropping the
/// future wakes another receiver.
///
/// A woken future keeps its wake-up until it is polled or dropped. If it is forgotten
/// (`mem::forget`), no other receiver is woken for the value. A future that is forgotten before it
/// is woken stays in the list of waiting receivers. A value that is sent later may wake the
/// forgotten future instead of another receiver.
///
/// A future that is polled again by the same task keeps its place among the waiting receivers. If
/// there is a value that another thread is just moving, the poll wakes its own task, so that the
/// executor polls the future again.
///
/// # Panics
///
/// Panics in `poll` if the clone of the task's waker panics. A panic of a waker that is woken or
/// dropped is ignored.
#[must_use = "a future does nothing unless it is polled"]
pub struct Recv<'a, T> {
    hunter: &'a mut (dyn Hunter<T> + Send + 'a),
    /// Identifies the entry of the future in the list of waiting receivers. `None` while the future
    /// is not in this list.
    ticket: Option<Ticket>,
}

impl<'a, T> Recv<'a, T> {
    pub(super) fn new(hunter: &'a mut (dyn Hunter<T> + Send + 'a)) -> Self {
        Self {
            hunter,
            ticket: None,
        }
    }

    /// Leaves the list of waiting receivers. The result tells whether the future was woken.
    fn rise(&mut self) -> Call {
        let bell = &self.hunter.shared().bell;
        self.ticket.take().map_or(Call::None, |ticket| {
            bell.withdraw(ticket, Call::Task, Call::None)
        })
    }

    /// Returns true if the future is still in the list of waiting receivers, with a waker that
    /// wakes the same task as `waker`. Such a future keeps its place, and needs no other heavy
    /// fence.
    fn keeps_waiting(&self, waker: &Waker) -> bool {
        let bell = &self.hunter.shared().bell;
        self.ticket.is_some_and(|ticket| bell.waits(ticket, waker))
    }

    fn answer(&self, call: Call) {
        let shared = self.hunter.shared();
        shared.bell.answer(call, || shared.has_work());
    }
}

/// Search of a future for a value. Ends when it is dropped, even if the clone of a waker panics.
/// Otherwise the wake-up of the future would be lost, although another receiver could use it.
struct ValueSearch<'s, 'a, T> {
    recv: &'s mut Recv<'a, T>,
    /// Tells whether the future was woken for a value.
    call: Call,
}

impl<T> ValueSearch<'_, '_, T> {
    /// Searches for a value, and joins the waiting receivers if there is none.
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        for search in 0..SEARCHES_MAX {
            if let Some(value) = self.recv.hunter.look() {
                return Poll::Ready(Some(value));
            }
            let shared = self.recv.hunter.shared();
            if shared.is_settled() {
                return Poll::Ready(self.recv.hunter.try_take().ok());
            }
            if search > 0 && shared.has_work() {
                // There is a value, but another thread needs a core to finish its move. To join the
                // waiting receivers again would cost a heavy fence for nothing.
                thread::yield_now();
                continue;
            }
            let sleeper = Sleeper::Task(cx.waker().clone());
            self.recv.ticket = Some(shared.bell.enlist(sleeper, Call::None));
            // Pairs with the light fence in `Shared::announce`.
            shared.fence.heavy();
            if !shared.is_disturbed() {
                return Poll::Pending;
            }
            if self.recv.rise() == Call::Task {
                self.call = Call::Task;
            }
        }
        // The future does not wait in the list, so it must be polled again in any case.
        let _ = quiet::call(|| cx.waker().wake_by_ref());
        Poll::Pending
    }
}

impl<T> Drop for ValueSearch<'_, '_, T> {
    fn drop(&mut self) {
        self.recv.answer(self.call);
    }
}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let recv = &mut *self;
        let found = if recv.keeps_waiting(cx.waker()) {
            let found = recv.hunter.look();
            if found.is_none() && !recv.hunter.shared().is_settled() {
                // The future was in the list all the time since its heavy fence, so every sender of
                // a later value sees it there.
                return Poll::Pending;
            }
            found
        } else {
            None
        };
        let call = recv.rise();
        let mut search = ValueSearch { recv, call };
        match found {
            Some(value) => Poll::Ready(Some(value)),
            None => search.poll(cx),
        }
    }
}

impl<T> Drop for Recv<'_, T> {
    fn drop(&mut self) {
        let call = self.rise();
        self.answer(call);
    }
}

impl<T> std::fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recv")
            .field("is_waiting", &self.ticket.is_some())
            .finish_non_exhaustive()
    }
}
