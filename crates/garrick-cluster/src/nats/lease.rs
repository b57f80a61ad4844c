//! The right to a name, which is a record in a bucket.
//!
//! ```text
//!   free or deleted --- update of that revision --------------------------------> held
//!   of another node --- unchanged for 5 s --- update of that revision ----------> held
//!            |
//!         changed: taken
//!
//!   held --- each second an update of the own last revision --- goes through ---> held
//!                                   |                   |
//!                              no answer            refused --- own record? ----> held
//!                                   |                   |
//!                                unsure            another's, or deleted: lost
//! ```
//!
//! Clocks of other machines are not used, and records on the server do not expire. (Deletions do,
//! but nothing depends on them, because the revisions of a bucket are never used again.) While the
//! server accepts no updates, no node can renew its record, so a candidate is not allowed to
//! replace any record. Therefore a candidate (a node that waits for the name) measures how long a
//! record is unchanged, but starts again when one of its own updates fails. To find out whether
//! updates succeed, the candidate updates a separate key. A read would not show whether updates
//! succeed: a server without a majority can still answer reads. The candidate also starts again
//! after a pause of its own process, because the owner may have been paused together with it.
//!
//! Only an update decides who has a name, because a read may be answered by a server that does not
//! have the latest record.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use garrick_sched::nanos;
use tokio::time::{Instant, sleep, timeout};

use super::bucket::{OPERATION, deletion, expiring};
use super::error::with_sources;
use super::names::probe as probe_key;
use super::publish::{Outgoing, Published, publish};
use super::silence::{LOOK_EVERY, LOOK_WITHIN, Shown, Silence};
use crate::name::NodeName;

/// Time between two renewals.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(1);

/// Number of successive refused renewals after which the name counts as lost, even if no record of
/// another node was found. A server that has gone back to an older state refuses renewals in this
/// way.
const REFUSALS_MAX: u32 = 5;

/// First words of a record, with the version of the format.
const FORMAT: &str = "garrick 1";

/// The record of a node, with the revision of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// There is no record. Contains the revision of the deletion, or 0 if no deletion is known.
    Free { revision: u64 },
    /// A node has the name.
    Held { revision: u64, holder: Holder },
    /// The stored value does not have the format of a record. Contains the revision of the value.
    Unknown { revision: u64 },
}

/// The content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    /// Random number that identifies the process that has joined.
    pub(super) id: u128,
    /// Incarnation of the node: a number that is greater after each restart of the node. The value
    /// 0 means that the incarnation is the revision of the record.
    pub(super) life: u64,
}

impl Holder {
    fn to_bytes(self) -> Bytes {
        format!("{FORMAT} {:032x} {}", self.id, self.life).into()
    }

    /// Parses the content of a record. Returns `None` if the content does not have the format of a
    /// record.
    pub(super) fn parse(content: &[u8]) -> Option<Self> {
        let words = str::from_utf8(content).ok()?.strip_prefix(FORMAT)?;
        let (id, life) = words.strip_prefix(' ')?.split_once(' ')?;
        Some(Self {
            id: u128::from_str_radix(id, 16).ok()?,
            life: life.parse().ok()?,
        })
    }

    /// Returns the incarnation of the node: a number that is greater after each restart of the
    /// node. `revision` is the revision of the node's record. This revision is the result if the
    /// record contains the number 0.
    pub(super) fn life_at(self, revision: u64) -> u64 {
        if self.life == 0 { revision } else { self.life }
    }
}

impl Record {
    fn revision(self) -> u64 {
        match self {
            Self::Free { revision } | Self::Held { revision, .. } | Self::Unknown { revision } => {
                revision
            }
        }
    }
}

/// Reads the record of a node.
async fn read(store: &Store, node: &NodeName) -> Result<Record, String> {
    let subject = format!("{}{node}", store.prefix);
    let message = match store.stream.get_last_raw_message_by_subject(&subject).await {
        Ok(message) => message,
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
            return Ok(Record::Free { revision: 0 });
        }
        Err(error) => return Err(with_sources(&error)),
    };
    let revision = message.sequence;
    if message.headers.get(OPERATION).is_some() {
        return Ok(Record::Free { revision });
    }
    Ok(match Holder::parse(&message.payload) {
        Some(holder) => Record::Held { revision, holder },
        None => Record::Unknown { revision },
    })
}

/// Result of an update of a node's record.
enum Updated {
    /// The record was replaced. Contains its new revision.
    Done(u64),
    /// The record has another revision.
    Refused,
    /// The result is not known. Contains the reason.
    Unknown(String),
}

/// Replaces a record, if the record has the revision `revision`.
async fn update(store: &Store, key: &str, content: Bytes, revision: u64) -> Updated {
    match store.update(key, content, revision).await {
        Ok(revision) => Updated::Done(revision),
        Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Updated::Refused,
        Err(error) => Updated::Unknown(with_sources(&error)),
    }
}

/// Reason why a name was not claimed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unclaimed {
    /// Another node has the name.
    Taken,
    /// The time limit has passed. Contains the reason of the last failure.
    TimedOut(String),
}

/// The bucket with the records of the nodes.
#[derive(Debug, Clone)]
pub(super) struct NameBucket {
    pub(super) store: Store,
    pub(super) context: Context,
    /// Time for which the server keeps the record of a deletion.
    pub(super) deleted_for: Duration,
}

impl NameBucket {
    /// Writes a record under a separate key of a candidate (a node that waits for a name). The
    /// write shows that the server accepts updates. The server forgets the record after the time
    /// for which it keeps deletions.
    async fn probe(&self, node: &NodeName) -> Result<(), String> {
        let probe = PublishMessage::build().headers(expiring(&self.store, self.deleted_for));
        let subject = format!("{}{}", self.store.prefix, probe_key(node));
        let sent = self.context.send_publish(subject, probe).await;
        let ack = sent.map_err(|error| with_sources(&error))?;
        ack.await.map_err(|error| with_sources(&error))?;
        Ok(())
    }

    /// Deletes the record of a node, if the record has the revision `revision`. Returns true if the
    /// record was deleted.
    async fn delete(&self, node: &NodeName, revision: u64) -> bool {
        let message = Outgoing {
            stream: &self.store.stream_name,
            subject: format!("{}{node}", self.store.prefix),
            headers: deletion(&self.store, self.deleted_for),
            content: Bytes::new(),
            after: revision,
        };
        matches!(publish(&self.context, message).await, Published::Stored(_))
    }
}

/// The right of a node to its name.
#[derive(Debug)]
pub(super) struct Lease {
    bucket: NameBucket,
    node: NodeName,
    holder: Holder,
    /// Last known revision of this node's own record.
    revision: u64,
    /// Number of successive renewals that were refused.
    refusals: u32,
}

/// Result of a renewal of this node's record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Renewed {
    Held,
    Unsure(String),
    Lost,
}

/// Tries to claim a name until a time limit has passed.
pub(super) async fn claim(
    bucket: NameBucket,
    node: NodeName,
    until: Instant,
) -> Result<Lease, Unclaimed> {
    let mut id = [0; 16];
    let random = getrandom::fill(&mut id);
    random.map_err(|error| Unclaimed::TimedOut(error.to_string()))?;
    let id = u128::from_le_bytes(id);
    let (began, mut silence) = (Instant::now(), Silence::default());
    let mut failure = "no answer".to_owned();
    while Instant::now() < until {
        let looked = look(&bucket, &node, id, &mut silence, began);
        match timeout(LOOK_WITHIN, looked).await {
            Ok(Ok(Some(revision))) => {
                let holder = Holder { id, life: revision };
                return Ok(Lease {
                    bucket,
                    node,
                    holder,
                    revision,
                    refusals: 0,
                });
            }
            Ok(Ok(None)) => {}
            Ok(Err(Unclaimed::Taken)) => return Err(Unclaimed::Taken),
            Ok(Err(Unclaimed::TimedOut(why))) => {
                silence.is_unsure();
                failure = why;
            }
            Err(_) => {
                silence.is_unsure();
                failure = "the server does not answer".to_owned();
            }
        }
        sleep(LOOK_EVERY).await;
    }
    Err(Unclaimed::TimedOut(failure))
}

/// Reads the record of a name once, and claims the name if possible. Returns the revision of the
/// record if the name was claimed. A record of another node can be replaced only if it stays
/// unchanged for some time. After an error, and after a pause of this process, this time starts
/// again. Times are counted from `start`.
async fn look(
    bucket: &NameBucket,
    node: &NodeName,
    id: u128,
    silence: &mut Silence,
    start: Instant,
) -> Result<Option<u64>, Unclaimed> {
    let now = || nanos(start.elapsed());
    let began = now();
    silence.look(began);
    let store = &bucket.store;
    bucket.probe(node).await.map_err(Unclaimed::TimedOut)?;
    let record = read(store, node).await.map_err(Unclaimed::TimedOut)?;
    let revision = record.revision();
    let is_free = match record {
        // An update without an answer has gone through.
        Record::Held { holder, .. } if holder.id == id => return Ok(Some(revision)),
        Record::Free { .. } => true,
        Record::Held { .. } | Record::Unknown { .. } => match silence.saw(revision, began, now()) {
            Shown::Changed => return Err(Unclaimed::Taken),
            Shown::Silent => true,
            Shown::NotYet => false,
        },
    };
    if !is_free {
        return Ok(None);
    }
    let content = Holder { id, life: 0 }.to_bytes();
    match update(store, node.as_str(), content, revision).await {
        Updated::Done(revision) => Ok(Some(revision)),
        // Another candidate, or the owner, was faster.
        Updated::Refused => {
            silence.is_unsure();
            Ok(None)
        }
        Updated::Unknown(why) => Err(Unclaimed::TimedOut(why)),
    }
}

impl Lease {
    /// Returns the incarnation of the node: a number that is greater after each restart of the
    /// node.
    pub(super) fn life(&self) -> u64 {
        self.holder.life
    }

    /// Renews the record.
    pub(super) async fn renew(&mut self) -> Renewed {
        let content = self.holder.to_bytes();
        match update(
            &self.bucket.store,
            self.node.as_str(),
            content,
            self.revision,
        )
        .await
        {
            Updated::Done(revision) => {
                (self.revision, self.refusals) = (revision, 0);
                Renewed::Held
            }
            Updated::Unknown(why) => Renewed::Unsure(why),
            Updated::Refused => {
                self.refusals += 1;
                self.look_again().await
            }
        }
    }

    /// Finds out why an update was refused.
    async fn look_again(&mut self) -> Renewed {
        let record = match read(&self.bucket.store, &self.node).await {
            Ok(record) => record,
            Err(why) => return Renewed::Unsure(why),
        };
        let is_later = record.revision() > self.revision;
        match record {
            // A renewal without an answer has gone through.
            Record::Held { revision, holder } if holder.id == self.holder.id && is_later => {
                (self.revision, self.refusals) = (revision, 0);
                Renewed::Held
            }
            _ if is_later || self.refusals >= REFUSALS_MAX => Renewed::Lost,
            _ => Renewed::Unsure("the server has answered with an old record".to_owned()),
        }
    }

    /// Deletes the record, if it still belongs to this node.
    pub(super) async fn release(mut self) {
        for _ in 0..2 {
            let is_deleted = self.bucket.delete(&self.node, self.revision).await;
            // After a renewal without an answer, the revision is another one.
            if is_deleted || self.look_again().await != Renewed::Held {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Holder;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for (id, life) in [(0, 0), (u128::MAX, u64::MAX), (0xabc, 7)] {
            let holder = Holder { id, life };
            assert_eq!(Holder::parse(&holder.to_bytes()), Some(holder));
        }
        assert_eq!(Holder { id: 1, life: 0 }.life_at(9), 9);
        assert_eq!(Holder { id: 1, life: 8 }.life_at(9), 8);
        for other in [
            &b""[..],
            b"garrick 1",
            b"garrick 2 0 1",
            b"garrick 1 0",
            b"garrick 1 g 1",
            b"garrick 1 0 18446744073709551616",
            b"garrick 1 0 1 1",
            b"garrick 1 100000000000000000000000000000000 1",
            b"\xff",
        ] {
            assert_eq!(Holder::parse(other), None, "{other:?}");
        }
    }
}
