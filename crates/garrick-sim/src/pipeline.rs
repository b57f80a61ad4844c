//! Pipelines on the nodes of a simulation.

use std::sync::Arc;

use garrick_flow::testing::Pipeline;
use garrick_flow::{Graph, StartError};

use crate::node::Node;
use crate::stage;

impl Node {
    /// Runs a graph on this node. The simulation runs the steps of each stage like the turns of an
    /// actor: a step of a stage and the delivery of a message are choices of the same search.
    ///
    /// A panic of a stage restarts or ends the stage, as in production. Unless
    /// [`Sim::allow_failures`] was called, the panic is also a failure of the run. Threads, cores
    /// and stack sizes of teams have no effect. A crash of the node drops all stages, with the
    /// messages in their channels. To run the graph again after a crash, build and run it in the
    /// start function of [`Sim::restarting`].
    ///
    /// Actors on this node may have ends of the graph's channels. If an actor on another node has
    /// such an end and wakes a stage, this is a failure of the run, because channels are shared
    /// memory.
    ///
    /// [`Sim::allow_failures`]: crate::Sim::allow_failures
    /// [`Sim::restarting`]: crate::Sim::restarting
    ///
    /// # Errors
    /// Returns a [`StartError`] if stages form a cycle that is not marked as feedback, if a channel
    /// is marked as feedback but does not lead back, or if the node has crashed.
    ///
    /// # Examples
    /// ```
    /// use garrick_flow::{Graph, note, stages};
    /// use garrick_sim::Sim;
    ///
    /// #[derive(Debug)]
    /// struct Sum(u64);
    ///
    /// Sim::check(|sim| {
    ///     let mut graph = Graph::new();
    ///     let (numbers, input) = graph.channel::<u64>(4).unwrap();
    ///     graph.source("numbers", stages::produce(numbers, 1..=6));
    ///     let mut sum = 0;
    ///     graph.stage("sum", stages::consume(input, move |batch: &[u64]| {
    ///         sum += batch.iter().sum::<u64>();
    ///         note(Sum(sum));
    ///     }));
    ///     let pipeline = sim.node("one").run(graph).unwrap();
    ///     sim.at_end("the sum of all", |facts| facts.last::<Sum>().unwrap().0 == 21);
    ///     sim.at_end("the pipeline ends", move |_| pipeline.has_ended());
    /// });
    /// ```
    pub fn run(&self, graph: Graph) -> Result<Pipeline, StartError> {
        let failures = Arc::clone(self.stage_failures());
        let pipeline = graph.simulate(self.place(), move |name, why| {
            failures.add(stage::failed(name, why));
        })?;
        stage::add_pipeline();
        Ok(pipeline)
    }
}
