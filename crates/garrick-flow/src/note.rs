//! Records facts for the properties that a simulation checks.

use std::any::Any;
use std::fmt::Debug;

/// Records a fact, for the properties that a simulation checks. Outside of a simulation, the fact
/// is dropped.
///
/// Call this function in a step of a stage. The fact stays recorded even if the step panics later.
/// In an actor, use the method `Context::note` instead.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Graph, note, stages};
///
/// #[derive(Debug)]
/// struct Written(u64);
///
/// let mut graph = Graph::new();
/// let (numbers, input) = graph.channel(16)?;
/// graph.source("numbers", stages::produce(numbers, 0..100));
/// graph.stage("write", stages::consume(input, |batch: &[u64]| {
///     batch.iter().for_each(|number| note(Written(*number)));
/// }));
/// graph.start()?.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn note<F: Any + Debug + Send>(fact: F) {
    garrick_sched::note(fact);
}
