//! Messages to other nodes, which a region (the actor that passes on all messages to entities of a
//! kind) collects until its current run on a worker ends.

use std::collections::VecDeque;

use garrick_actor::{Context, SendError};
use hashbrown::HashSet;

use super::{Leaving, Region, is_late};
use crate::entities::message::{RegionMsg, ToRegion};
use crate::entities::shard::Waiting;
use crate::line::Travels;

impl<M: Travels> Region<M> {
    /// Sends the collected messages to other nodes. All messages that one turn sends to a node are
    /// one batch, which costs much less than many batches.
    pub(super) fn send_gathered(&mut self, cx: &Context<'_, RegionMsg<M>>) {
        let mut refused: Vec<(u32, Waiting<M>)> = Vec::new();
        let mut blocked: HashSet<u32> = HashSet::new();
        for leaving in std::mem::take(&mut self.leaving) {
            let Leaving {
                to,
                shard,
                revision,
                waiting,
            } = leaving;
            if blocked.contains(&shard) {
                // In order.
                refused.push((shard, waiting));
                continue;
            }
            let Waiting {
                key,
                message,
                since,
                by,
                has_waited,
            } = waiting;
            let parcel = ToRegion::Message {
                shard,
                key: key.to_string(),
                revision,
                message,
                has_waited,
            };
            // A panic of the encoding is caught by the door, and the message is lost.
            if let Err(SendError(ToRegion::Message { message, .. })) = cx.send(&to, parcel) {
                // Too much waits for that node, or it was lost.
                blocked.insert(shard);
                refused.push((
                    shard,
                    Waiting {
                        key,
                        message,
                        since,
                        by,
                        has_waited,
                    },
                ));
            }
        }
        for (number, mut waiting) in refused.into_iter().rev() {
            waiting.wait_from(cx.now());
            if is_late(waiting.since, cx.now()) {
                self.expires(waiting);
            } else {
                self.wait(number, waiting, VecDeque::push_front, cx);
            }
        }
    }
}
