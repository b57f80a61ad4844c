//! Moves failures, dead letters and supervision trees from readings to snapshots.

use std::mem::take as take_out;

use super::build::{SPONSORS, id_of};
use super::labels::Labels;
use crate::reading::{Reading, SponsorReading};
use crate::snapshot::Snapshot;
use crate::trouble::{DeadLetters, SharedBook};
use crate::window::Nanos;

/// Removes three parts from the values that one source has reported: moves the dead letters to
/// `snapshot`, and the failures and the supervision trees to `book`.
pub(super) fn take(
    book: &SharedBook,
    snapshot: &mut Snapshot,
    source: u64,
    reading: &mut Reading,
    labels: &mut Labels,
    now: Nanos,
) {
    for letter in take_out(&mut reading.letters) {
        snapshot.dead_letters.push(DeadLetters {
            place: label_of(source, &letter.place, &reading.sponsors, labels),
            name: letter.name,
            reason: letter.reason,
            count: letter.count,
        });
    }
    if reading.failures.is_empty() && reading.trees.is_none() {
        return;
    }
    let (unix_ms, mut book) = (snapshot.unix_ms, book.lock());
    book.add_failures(source, take_out(&mut reading.failures), now, unix_ms);
    if let Some(trees) = reading.trees.take() {
        book.set_trees(source, trees, unix_ms);
    }
}

/// Returns the label of the sponsor (thread pool or thread) with the name `place` that a source has
/// reported. No sponsor of another source has this label: their dead letters must not be added up,
/// because the sum would fall when one of the sponsors ends.
fn label_of(source: u64, place: &str, sponsors: &[SponsorReading], labels: &mut Labels) -> String {
    let sponsor = sponsors.iter().find(|sponsor| sponsor.name == place);
    let id = match sponsor {
        Some(sponsor) => id_of(source, &sponsor.id),
        // No other item has this identifier.
        None => format!("{source} {place}"),
    };
    labels.of(&id, SPONSORS, place)
}

/// Writes the newest failures and the summary of the supervision trees to `snapshot`. For each
/// node, also writes the number of its actors that failed in the window and were not restarted, and
/// the largest number of restarts of one of its actors. If an actor belongs to no node of the
/// snapshot, its failures are added to a sponsor (a set of threads that run actors) from the same
/// source. `window` is the length of the window, even if less time has passed since the start of
/// the telemetry: an actor may have failed just before.
pub(super) fn write(book: &SharedBook, snapshot: &mut Snapshot, now: Nanos, window: Nanos) {
    let mut book = book.lock();
    snapshot.recent_failures = book.newest();
    snapshot.supervision = book.supervision();
    let begin = i128::from(now) - i128::from(window);
    for ((source, actors), losses) in book.losses_since(begin) {
        let id = format!("{source}.{actors}");
        if let Some(node) = snapshot.nodes.iter_mut().find(|node| node.id == id) {
            (node.lost, node.restarts_of_one) = (losses.lost, losses.restarts_of_one);
            continue;
        }
        let of_source = format!("{source}.");
        let mut sponsors = snapshot.sponsors.iter_mut();
        if let Some(sponsor) = sponsors.find(|sponsor| sponsor.id.starts_with(&of_source)) {
            sponsor.lost += losses.lost;
        }
    }
}
