//! Questions from tokio tasks to actors.

use std::future::Future;

use garrick_measure::{
    Clock, Contender, Effort, Measured, Point, Result, Scenario, Stopwatch, Swept,
};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::actors::builder;
use super::ask::{Answerer, Question};

pub(super) const ASK_TOKIO: Scenario = Scenario {
    name: "ask-tokio",
    operation: "one ask by a tokio task that repeatedly asks one of 16 actors, one ask at a time; \
                tasks is the number of these tasks, and workers the number of tokio's threads and \
                of the actors' threads; garrick: the tasks ask by Address::call, so a tokio thread \
                may run the asked actor; ask: the tasks ask by Address::ask, so only the threads \
                of the actors run actors; tokio: tasks of the same runtime answer instead of \
                actors, and receive each question with a oneshot channel for the answer",
    contenders: |effort: &Effort| at(effort, &Point::default()),
};

pub(super) const SWEPT: Swept = Swept {
    scenario: ASK_TOKIO.name,
    parameters: &[("tasks", 1..=1_000_000), ("workers", 1..=64)],
    contenders: at,
};

/// Numbers of tasks that are measured by default, without a value of the parameter `tasks`.
const TASKS: [u64; 3] = [1, 64, 4_096];

/// Numbers of workers that are measured by default, without a value of the parameter `workers`.
const WORKERS: [u64; 2] = [1, 2];

fn at(_: &Effort, point: &Point) -> Vec<Contender> {
    let all = Askers::at(point);
    let contenders = all.into_iter().flat_map(|askers| {
        [
            askers.contender("garrick", by_call),
            askers.contender("ask", by_ask),
            askers.contender("tokio", of_tasks),
        ]
    });
    contenders.collect()
}

/// A group of tokio tasks that ask actors questions. Each task waits for the answer to a question
/// before it asks the next one.
///
/// # Examples
/// Measure a function that returns at once, instead of actors:
/// ```
/// use garrick_bench::Askers;
/// use garrick_measure::Point;
///
/// for askers in Askers::at(&Point::default().with("tasks", 4)) {
///     let mut contender = askers.contender("function", |askers, asks| {
///         let runtime = askers.runtime()?;
///         let asked = askers.ask(runtime.handle(), asks, |_, asks| async move { asks });
///         runtime.block_on(asked)
///     });
///     assert_eq!((contender.measure)(100)?.ops, 100);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Askers {
    /// Number of tasks.
    tasks: u64,
    /// Number of threads that run the tasks. If the actors run on separate threads, the number of
    /// these threads is the same.
    workers: usize,
}

impl Askers {
    /// Number of actors that the tasks ask.
    pub const ASKED: usize = 16;

    /// Minimum number of questions that each task asks.
    const EACH_MIN: u64 = 16;

    /// Returns one group of tasks for each combination of the parameters `tasks` and `workers` to
    /// measure at `point`. If `point` has no value for one of these parameters, the default values
    /// of that parameter are used.
    pub fn at(point: &Point) -> Vec<Self> {
        let one_or =
            |name, all: &[u64]| point.get(name).map_or(all.to_vec(), |number| vec![number]);
        let mut askers = Vec::new();
        for workers in one_or("workers", &WORKERS) {
            let workers = workers as usize;
            let with = |tasks| Self { tasks, workers };
            askers.extend(one_or("tasks", &TASKS).into_iter().map(with));
        }
        askers
    }

    /// Returns the number of threads that run the tasks. The actors must run on the same number of
    /// threads.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Creates a contender that calls `measure` with this group of tasks and with the total number
    /// of questions to ask.
    pub fn contender(
        self,
        name: &'static str,
        measure: impl Fn(Self, u64) -> Result<Measured> + 'static,
    ) -> Contender {
        // With fewer asks, the start of the tasks and of the actors' threads would dominate the
        // measurement.
        let asks_min = Self::EACH_MIN * self.tasks;
        Contender::fitted(name, move |asks| measure(self, asks.max(asks_min)))
            .with("tasks", self.tasks)
            .with("workers", self.workers)
    }

    /// Starts a tokio runtime with [`workers`](Self::workers) threads for the tasks.
    ///
    /// # Errors
    /// Fails if the threads cannot be started.
    pub fn runtime(&self) -> Result<Runtime> {
        let mut builder = Builder::new_multi_thread();
        Ok(builder.worker_threads(self.workers).build()?)
    }

    /// Runs the tasks on `runtime` until they have asked `asks` questions in total. Measures the
    /// wall time, and the CPU time of the whole process, until the last task has ended.
    ///
    /// `asker(actor, questions)` creates a task that asks one actor this number of questions.
    /// `actor` is the index of the actor. Questions and answers are numbers, and the answer must be
    /// the question plus 1. A task first asks 0, then asks each answer as its next question, and
    /// returns the last answer.
    ///
    /// # Errors
    /// Fails if a task panicked, or if its last answer is not the number of its questions.
    pub async fn ask<F>(
        self,
        runtime: &Handle,
        asks: u64,
        asker: impl Fn(usize, u64) -> F,
    ) -> Result<Measured>
    where
        F: Future<Output = u64> + Send + 'static,
    {
        let (each, more) = (asks / self.tasks, asks % self.tasks);
        let watch = Stopwatch::start(Clock::Process);
        let asked = (0..self.tasks).map(|task| {
            let asks = each + u64::from(task < more);
            let asked = (task % Self::ASKED as u64) as usize;
            (asks, runtime.spawn(asker(asked, asks)))
        });
        let asked: Vec<_> = asked.collect();
        let mut answers = Vec::with_capacity(asked.len());
        for (asks, asker) in asked {
            answers.push((asks, asker.await));
        }
        let span = watch.stop();
        for (asks, answer) in answers {
            let answer = answer?;
            if answer != asks {
                return Err(format!("the answer to question {asks} was {answer}").into());
            }
        }
        Ok(Measured::new(asks, span))
    }
}

/// Measures questions of tokio tasks that may run the asked actors on tokio's threads.
fn by_call(askers: Askers, asks: u64) -> Result<Measured> {
    of_actors(askers, asks, true)
}

/// Measures questions of tokio tasks to actors that only the threads of their system run.
fn by_ask(askers: Askers, asks: u64) -> Result<Measured> {
    of_actors(askers, asks, false)
}

fn of_actors(askers: Askers, asks: u64, by_call: bool) -> Result<Measured> {
    let system = builder().workers(askers.workers).start()?;
    let mut answerers = Vec::new();
    for _ in 0..Askers::ASKED {
        answerers.push(system.spawn(Answerer)?);
    }
    let runtime = askers.runtime()?;
    runtime.block_on(askers.ask(runtime.handle(), asks, |asked, asks| {
        let answerer = answerers[asked].clone();
        async move {
            let mut number = 0;
            while number < asks {
                let question = |reply| Question(number, reply);
                let answer = if by_call {
                    answerer.call(question).await
                } else {
                    answerer.ask(question).await
                };
                let Ok(answer) = answer else { break };
                number = answer;
            }
            number
        }
    }))
}

fn of_tasks(askers: Askers, asks: u64) -> Result<Measured> {
    let runtime = askers.runtime()?;
    let answerers: Vec<_> = (0..Askers::ASKED).map(|_| answerer(&runtime)).collect();
    runtime.block_on(askers.ask(runtime.handle(), asks, |asked, asks| {
        let answerer = answerers[asked].clone();
        async move {
            let mut number = 0;
            while number < asks {
                let (reply, answer) = oneshot::channel();
                let sent = answerer.send((number, reply));
                let (Ok(()), Ok(answer)) = (sent, answer.await) else {
                    break;
                };
                number = answer;
            }
            number
        }
    }))
}

/// A number, and a channel for its answer.
type Asked = (u64, oneshot::Sender<u64>);

/// Starts a task that answers questions, and returns the sender for the questions. The task stops
/// when the sender and all its clones have been dropped.
fn answerer(runtime: &Runtime) -> mpsc::UnboundedSender<Asked> {
    let (sender, mut questions) = mpsc::unbounded_channel::<Asked>();
    runtime.spawn(async move {
        while let Some((number, reply)) = questions.recv().await {
            // The asking task waits for this answer.
            let _ = reply.send(number + 1);
        }
    });
    sender
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ask_is_answered_however_they_are_divided() {
        for askers in Askers::at(&Point::default().with("tasks", 20)) {
            for asks in [1, 19, 20, 250] {
                assert_eq!(by_call(askers, asks).unwrap().ops, asks);
                assert_eq!(by_ask(askers, asks).unwrap().ops, asks);
                assert_eq!(of_tasks(askers, asks).unwrap().ops, asks);
            }
        }
    }

    #[test]
    fn who_gets_too_few_answers_is_an_error() {
        let askers = Askers {
            tasks: 2,
            workers: 1,
        };
        let runtime = askers.runtime().unwrap();
        let few = askers.ask(runtime.handle(), 4, |asked, _| async move { asked as u64 });
        let why = runtime.block_on(few).unwrap_err().to_string();
        assert_eq!(why, "the answer to question 2 was 0");
    }
}
