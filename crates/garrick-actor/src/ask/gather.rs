//! Questions to several actors at the same time. All answers arrive in a single message.

use std::time::Duration;

use garrick_sched::{Address, Flow, NoReply, Reply, Task, Timer, Turn, nanos};

use super::question::reply_through;
use crate::model::context::Context;
use crate::quiet::Several;

/// A message to the task that collects the answers (a [`Gatherer`]).
enum Heard<R> {
    /// An answer, with the index of its question.
    Answer(usize, Result<R, NoReply>),
    /// The time limit has passed.
    TimeOver,
}

/// A task that collects answers and sends them to the asker.
struct Gatherer<R, F> {
    /// Answers in the order of the questions. `None` for answers that have not arrived.
    answers: Several<Vec<Option<Result<R, NoReply>>>>,
    /// Number of answers that have not arrived yet.
    missing: usize,
    /// Closure that sends the answers to the asker. `None` once the answers have been sent.
    give: Option<F>,
    /// Timer that sends `TimeOver`, if the time is limited.
    timer: Option<Timer>,
}

impl<R, F> Task for Gatherer<R, F>
where
    R: Send + 'static,
    F: FnOnce(Vec<Result<R, NoReply>>) + 'static,
{
    type Message = Heard<R>;
    const INTERNAL: bool = true;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, Heard<R>>) -> Flow {
        self.step()
    }

    fn receive(&mut self, heard: Heard<R>, _: &Turn<'_, Heard<R>>) -> Flow {
        match heard {
            Heard::Answer(place, answer) => {
                self.answers[place] = Some(answer);
                self.missing -= 1;
            }
            Heard::TimeOver => self.missing = 0,
        }
        self.step()
    }
}

impl<R, F> Gatherer<R, F>
where
    F: FnOnce(Vec<Result<R, NoReply>>),
{
    /// If no more answers are expected, sends the answers to the asker and stops this task.
    fn step(&mut self) -> Flow {
        if self.missing > 0 {
            return Flow::Continue;
        }
        if let Some(give) = self.give.take() {
            let answers = self.answers.drain(..);
            give(
                answers
                    .map(|answer| answer.unwrap_or(Err(NoReply::TimedOut)))
                    .collect(),
            );
        }
        // Missing answers that arrive later are discarded.
        Flow::Stop
    }
}

impl<R, F> Drop for Gatherer<R, F> {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.cancel();
        }
    }
}

impl<M: 'static> Context<'_, M> {
    /// Asks several actors concurrently and receives all answers in a single message.
    ///
    /// `msg` creates the question to each actor. `convert` gets the answers in the order of the
    /// addresses in `to`, and creates the message to this actor. If one of the asked actors does
    /// not answer, for example because it has stopped, `convert` gets an error instead of that
    /// answer, as with [`Context::ask`].
    ///
    /// The message is sent when all answers and errors have arrived. If an asked actor neither
    /// answers nor drops its [`Reply`], the message is never sent. Use [`Context::ask_all_within`]
    /// to set a time limit. If `to` is empty, the message is sent immediately.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply, behavior};
    ///
    /// struct Sum(Vec<Address<Reply<u32>>>);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Parts(Vec<Result<u32, NoReply>>),
    /// }
    ///
    /// impl Actor for Sum {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => cx.ask_all(&self.0, |reply| reply, Msg::Parts),
    ///             Msg::Parts(parts) => {
    ///                 let sum: u32 = parts.into_iter().flatten().sum();
    ///                 assert_eq!(sum, 6);
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let parts =
    ///     (1..=3).map(|n| local.spawn(behavior(move |reply: Reply<u32>, _| reply.send(n))));
    /// local.spawn(Sum(parts.collect())).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_all<'n, N, R, W, F>(
        &self,
        to: impl IntoIterator<Item = &'n Address<N>>,
        msg: W,
        convert: F,
    ) where
        M: Send,
        N: 'static,
        R: Send + 'static,
        W: FnMut(Reply<R>) -> N,
        F: FnOnce(Vec<Result<R, NoReply>>) -> M + Send + 'static,
    {
        self.gather(None, to, msg, convert);
    }

    /// Asks several actors concurrently, like [`Context::ask_all`], with a time limit. For each
    /// answer that has not arrived within `timeout`, `convert` gets [`NoReply::TimedOut`] instead.
    pub fn ask_all_within<'n, N, R, W, F>(
        &self,
        timeout: Duration,
        to: impl IntoIterator<Item = &'n Address<N>>,
        msg: W,
        convert: F,
    ) where
        M: Send,
        N: 'static,
        R: Send + 'static,
        W: FnMut(Reply<R>) -> N,
        F: FnOnce(Vec<Result<R, NoReply>>) -> M + Send + 'static,
    {
        self.gather(Some(timeout), to, msg, convert);
    }

    fn gather<'n, N, R, W, F>(
        &self,
        timeout: Option<Duration>,
        to: impl IntoIterator<Item = &'n Address<N>>,
        mut make: W,
        convert: F,
    ) where
        M: Send,
        N: 'static,
        R: Send + 'static,
        W: FnMut(Reply<R>) -> N,
        F: FnOnce(Vec<Result<R, NoReply>>) -> M + Send + 'static,
    {
        let to: Vec<_> = to.into_iter().collect();
        let asker = self.address();
        let give = move |answers| {
            // The send fails if the asker has stopped. In this case, it does not need the answers.
            let _ = asker.send_promised(convert(answers));
        };
        let turn = self.turn();
        let timer = timeout.map(|_| turn.timer());
        let gatherer = turn.spawn(Gatherer {
            answers: Several::from(to.iter().map(|_| None).collect::<Vec<_>>()),
            missing: to.len(),
            give: Some(give),
            timer: timer.clone(),
        });
        if let (Some(timer), Some(timeout)) = (timer, timeout) {
            let time_over = turn.now().saturating_add(nanos(timeout));
            // The gatherer has not started yet, so it accepts the message.
            let _ = turn.set_timer(&timer, time_over, &gatherer, Heard::TimeOver);
        }
        for (place, to) in to.into_iter().enumerate() {
            let convert = move |answer| Heard::Answer(place, answer);
            let reply = reply_through(turn, gatherer.clone(), convert);
            // A question that cannot be sent is dropped, and its reply then answers
            // `NoReply::Dropped`.
            let _ = self.send(to, make(reply));
        }
    }
}
