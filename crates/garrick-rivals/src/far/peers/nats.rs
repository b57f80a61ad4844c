//! The NATS client by hand: messages that are packed into frames, and questions by request and
//! reply. A single thread runs the client.

use std::thread;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::{Builder, Runtime};

use super::frame::{FRAME, Message, count_all, pack};
use crate::far::child::{is_ready, wait_for_end};
use crate::far::near::{Count, Near, Place, Tally, answer_to, check, content_of, numbers, serve};
use crate::far::order::Fault;

/// Maximum number of bytes in frames that the receiver has not confirmed, as in the links of
/// Garrick's nodes.
const WINDOW: u64 = 4 << 20;

/// Maximum number of messages that a subscription queues. The window limits their size.
const QUEUED_MAX: usize = 1 << 20;

/// Subjects of a pair.
struct Subjects {
    tell: String,
    ask: String,
    credit: String,
}

impl Subjects {
    fn of(place: &Place) -> Self {
        let name = &place.name;
        Self {
            tell: format!("{name}.tell"),
            ask: format!("{name}.ask"),
            credit: format!("{name}.credit"),
        }
    }
}

fn runtime() -> Result<Runtime, Fault> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

async fn client(place: &Place) -> Result<Client, Fault> {
    let options = ConnectOptions::new().subscription_capacity(QUEUED_MAX);
    Ok(options.connect(&place.server).await?)
}

/// Runs the receiving process.
pub(in crate::far) fn far(place: &Place) -> Result<(), Fault> {
    let runtime = runtime()?;
    let subjects = Subjects::of(place);
    runtime.block_on(async {
        let client = client(place).await?;
        let frames = client.subscribe(subjects.tell).await?;
        let questions = client.subscribe(subjects.ask).await?;
        client.flush().await?;
        is_ready("")?;
        let (ended, end) = tokio::sync::oneshot::channel();
        thread::spawn(move || {
            wait_for_end();
            let _ = ended.send(());
        });
        let received = receive(&client, frames, subjects.credit);
        let answered = answer(&client, questions);
        tokio::select! {
            error = received => error,
            error = answered => error,
            _ = end => Ok(()),
        }
    })
}

/// Counts the messages of all frames. Confirms the bytes of the frames, and answers questions for
/// the tally, which come on the same subject.
async fn receive(client: &Client, mut frames: Subscriber, credit: String) -> Result<(), Fault> {
    let (mut count, mut bytes, mut confirmed) = (Count::new(), 0, 0);
    while let Some(frame) = frames.next().await {
        if let Some(reply) = frame.reply {
            let tally = Bytes::copy_from_slice(&count.tally().to_bytes());
            client.publish(reply, tally).await?;
            continue;
        }
        count_all(&frame.payload, &mut count);
        bytes += frame.payload.len() as u64;
        if bytes - confirmed >= WINDOW / 8 {
            confirmed = bytes;
            let total = Bytes::copy_from_slice(&bytes.to_le_bytes());
            client.publish(credit.clone(), total).await?;
        }
    }
    Ok(())
}

async fn answer(client: &Client, mut questions: Subscriber) -> Result<(), Fault> {
    while let Some(question) = questions.next().await {
        if let (Some(reply), Some([first, second])) = (question.reply, numbers(&question.payload)) {
            let answer = answer_to(first, second).to_le_bytes();
            client
                .publish(reply, Bytes::copy_from_slice(&answer))
                .await?;
        }
    }
    Ok(())
}

/// Runs the sending process.
pub(in crate::far) fn near(place: &Place) -> Result<(), Fault> {
    let runtime = runtime()?;
    let subjects = Subjects::of(place);
    let connected = runtime.block_on(async {
        let client = client(place).await?;
        let credits = client.subscribe(subjects.credit.clone()).await?;
        client.flush().await?;
        Ok::<_, Fault>((client, credits))
    });
    let (client, credits) = connected?;
    serve(Sender {
        runtime,
        client,
        credits,
        subjects,
        sent: 0,
        confirmed: 0,
    })
}

struct Sender {
    runtime: Runtime,
    client: Client,
    credits: Subscriber,
    subjects: Subjects,
    /// Total size of all frames so far.
    sent: u64,
    /// The part of `sent` that the receiver has confirmed.
    confirmed: u64,
}

impl Near for Sender {
    fn tell(&mut self, bytes: usize, count: u64) -> Result<Option<Duration>, Fault> {
        self.runtime.block_on(async {
            let mut message = Message::new(bytes);
            let mut frame = Vec::with_capacity(2 * FRAME);
            for number in 0..count {
                pack(&mut frame, message.numbered(number));
                if frame.len() < FRAME && number + 1 < count {
                    continue;
                }
                while self.sent - self.confirmed > WINDOW {
                    let credit = self
                        .credits
                        .next()
                        .await
                        .ok_or("the connection has ended")?;
                    let total = credit.payload.first_chunk().ok_or("an empty credit")?;
                    self.confirmed = u64::from_le_bytes(*total);
                }
                self.sent += frame.len() as u64;
                let full = std::mem::replace(&mut frame, Vec::with_capacity(2 * FRAME));
                let tell = self.subjects.tell.clone();
                self.client.publish(tell, full.into()).await?;
            }
            Ok(None)
        })
    }

    fn ask(&mut self, in_flight: usize, count: u64) -> Result<Vec<Duration>, Fault> {
        let (client, subject) = (&self.client, &self.subjects.ask);
        let ask = |number: u64| async move {
            let began = Instant::now();
            let question = Bytes::copy_from_slice(&content_of(number, number + 1));
            let answer = client.request(subject.clone(), question).await?;
            let answer = answer.payload.first_chunk().ok_or("an empty answer")?;
            check(number, u64::from_le_bytes(*answer))?;
            Ok::<_, Fault>(began.elapsed())
        };
        self.runtime.block_on(async {
            let mut numbers = 0..count;
            let mut under_way: FuturesUnordered<_> =
                numbers.by_ref().take(in_flight).map(ask).collect();
            let mut times = Vec::new();
            while let Some(time) = under_way.next().await {
                times.push(time?);
                under_way.extend(numbers.next().map(ask));
            }
            Ok(times)
        })
    }

    fn tally(&mut self) -> Result<Tally, Fault> {
        let question = self
            .client
            .request(self.subjects.tell.clone(), Bytes::new());
        let answer = self.runtime.block_on(question)?;
        Tally::from_bytes(&answer.payload)
    }
}
