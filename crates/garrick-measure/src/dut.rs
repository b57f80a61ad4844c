//! Devices under test (DUTs): a function to measure, and the threads that call it.
//!
//! The timed code is a loop of direct calls, compiled for each function separately. Measuring adds
//! only the loop itself and two reads of the clocks.

use std::fmt;
use std::hint::black_box;
use std::sync::{Arc, mpsc};

use garrick_actor::{Actor, Address, Context, System};

use crate::clock::{Clock, Stopwatch};
use crate::point::Point;
use crate::scenario::{Contender, Measured, Result};

/// A device under test: a function or a [`Contender`] to measure. At each point of a sweep, the
/// function or contender is created anew, and then called many times.
///
/// # Examples
/// ```
/// use garrick_measure::{Dut, Point};
///
/// let dut = Dut::new("sum", |point| {
///     let numbers: Vec<u64> = (0..point["n"]).collect();
///     move || numbers.iter().sum::<u64>()
/// });
/// let mut contender = dut.at(&Point::default().with("n", 1000))?;
/// assert_eq!((contender.measure)(5)?.ops, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dut {
    name: &'static str,
    make: Make,
}

/// Creates a contender for a point of a sweep.
type Make = Box<dyn Fn(&Point) -> Result<Contender>>;

impl Dut {
    /// Creates a device under test from a function. At each point of a sweep, `make` is called and
    /// returns the function to measure.
    ///
    /// The function is called on the measuring thread. The measured time does not include the call
    /// of `make`. The compiler cannot remove the function's call, even if its result is not needed.
    pub fn new<F, R>(name: &'static str, make: impl Fn(&Point) -> F + 'static) -> Self
    where
        F: FnMut() -> R + 'static,
    {
        Self::contender(name, move |point| {
            let mut function = make(point);
            Ok(Contender::fitted(name, move |ops| {
                let watch = Stopwatch::start(Clock::Thread);
                call(&mut function, ops);
                Ok(Measured::new(ops, watch.stop()))
            }))
        })
    }

    /// Creates a device under test from a function that several actors call at the same time. At
    /// each point of a sweep, `make` is called and returns the function to measure.
    ///
    /// The actors run in a separate system with the given number of `workers`, one actor for each
    /// worker. The wall time is measured until the last actor has finished. The CPU time is
    /// measured for the whole process. Both times are divided by the total number of calls.
    pub fn on_pool<F, R>(
        name: &'static str,
        workers: usize,
        make: impl Fn(&Point) -> F + 'static,
    ) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: 'static,
    {
        Self::contender(name, move |point| {
            let crew = Crew::start(workers, &Arc::new(make(point)))?;
            let measured = Contender::fitted(name, move |ops| crew.measure(ops));
            Ok(measured.with("workers", workers))
        })
    }

    /// Creates a device under test from a contender. At each point of a sweep, `make` is called and
    /// returns the contender, which measures its own time.
    pub fn contender(
        name: &'static str,
        make: impl Fn(&Point) -> Result<Contender> + 'static,
    ) -> Self {
        Self {
            name,
            make: Box::new(make),
        }
    }

    /// Returns the name of the device under test.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Creates the contender for `point`. The values of the point are added to the contender's
    /// parameters.
    ///
    /// # Errors
    /// Fails if the contender cannot be created, for example because the system cannot start
    /// threads.
    pub fn at(&self, point: &Point) -> Result<Contender> {
        let contender = (self.make)(point)?;
        let parameters = point.parameters();
        Ok(parameters.fold(contender, |contender, (name, value)| {
            contender.with(name, value)
        }))
    }
}

impl fmt::Debug for Dut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dut")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Calls the function in a loop. `call` is not inlined, so that the loop is compiled in the same
/// way for every use.
#[inline(never)]
fn call<R>(mut function: impl FnMut() -> R, ops: u64) {
    for _ in 0..ops {
        black_box(function());
    }
}

/// Actors that call one function at the same time, one for each worker.
struct Crew {
    callers: Vec<Address<Call>>,
    _system: System,
}

/// A request to call the function `ops` times, and to report on `done` after the last call.
struct Call {
    ops: u64,
    done: mpsc::Sender<()>,
}

/// An actor that calls a function. Each message contains the number of calls.
struct Caller<F>(Arc<F>);

impl<F, R> Actor for Caller<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: 'static,
{
    type Msg = Call;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, Call { ops, done }: Call, _: &mut Context<'_, Call>) {
        call(&*self.0, ops);
        // A missing receiver means that the run was given up.
        let _ = done.send(());
    }
}

impl Crew {
    fn start<F, R>(workers: usize, function: &Arc<F>) -> Result<Self>
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: 'static,
    {
        let system = System::builder().workers(workers).start()?;
        let callers = (0..workers).map(|_| system.spawn(Caller(function.clone())));
        Ok(Self {
            callers: callers.collect::<std::result::Result<_, _>>()?,
            _system: system,
        })
    }

    fn measure(&self, ops: u64) -> Result<Measured> {
        let share = ops.div_ceil(self.callers.len() as u64);
        let (done, waiting) = mpsc::channel();
        let watch = Stopwatch::start(Clock::Process);
        for caller in &self.callers {
            let done = done.clone();
            let sent = caller.send(Call { ops: share, done });
            sent.map_err(|_| GONE)?;
        }
        // If a caller panics, its end of the channel is dropped, and then there is nothing to wait
        // for.
        drop(done);
        for _ in &self.callers {
            waiting.recv().map_err(|_| GONE)?;
        }
        Ok(Measured::new(
            share * self.callers.len() as u64,
            watch.stop(),
        ))
    }
}

/// Error message if the measured function panics. The panic stops the actor that calls the
/// function.
const GONE: &str = "the measured function panicked";

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn a_function_is_called_as_often_as_asked() {
        let calls = Rc::new(Cell::new(0));
        let seen = calls.clone();
        let dut = Dut::new("count", move |point| {
            let (calls, by) = (seen.clone(), point["by"]);
            move || calls.set(calls.get() + by)
        });
        let mut contender = dut.at(&Point::default().with("by", 3)).unwrap();
        assert_eq!(contender.params["by"], 3);
        assert_eq!((contender.measure)(7).unwrap().ops, 7);
        assert_eq!(calls.get(), 21);
    }

    #[test]
    fn a_crew_shares_the_calls_and_rounds_them_up() {
        let calls = Arc::new(AtomicU64::new(0));
        let seen = calls.clone();
        let dut = Dut::on_pool("count", 2, move |_| {
            let calls = seen.clone();
            move || calls.fetch_add(1, Relaxed)
        });
        let mut contender = dut.at(&Point::default()).unwrap();
        assert_eq!(contender.params["workers"], 2);
        assert_eq!((contender.measure)(5).unwrap().ops, 6);
        assert_eq!(calls.load(Relaxed), 6);
    }

    #[test]
    fn a_function_that_panics_on_a_pool_is_an_error() {
        let dut = Dut::on_pool("panic", 1, |_| || assert_eq!(1, 2, "as the test asks"));
        let mut contender = dut.at(&Point::default()).unwrap();
        let error = (contender.measure)(1).unwrap_err();
        assert_eq!(error.to_string(), GONE);
    }
}
