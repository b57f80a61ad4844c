//! One simulated run: its nodes, its properties and its faults.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use garrick_actor::system::Builder;
use garrick_actor::{Address, Consequence, Failure, Note, Observing, System, short_type_name};
use garrick_core::random::mix;
use garrick_sched::{Birth, CHOSEN_FAILURE, Flow, Nanos, Sent, Simulation, Task, Turn};

use crate::chance::nanos_of;
use crate::clock::{Clock, Clocks, NodeClock, SimWorld};
use crate::disk::{Disk, Disks, FaultWatch};
use crate::facts::Facts;
use crate::failures::Failures;
use crate::faults::{Faults, Partition};
use crate::history::{Model, Verdict};
use crate::links::Links;
use crate::node::Node;
use crate::property::{Broken, Kind, Properties};
use crate::stage;

/// Probability of an event that always happens, in per mille.
const CERTAINLY: u32 = 1000;

/// A function that starts the actors of a node.
type Start = Box<dyn FnMut(&Node)>;

/// One run of a simulated program. The closure that is passed to [`Sim::check`] sets the run up.
pub struct Sim {
    /// Guard of the observer that records facts. This field is dropped first, so no facts are
    /// recorded while the tasks are dropped.
    _observing: Observing,
    pub(crate) simulation: Simulation,
    pub(crate) clock: Clock,
    clocks: Clocks,
    pub(crate) facts: Rc<RefCell<Facts>>,
    /// Sequence number of the current step, from 0.
    pub(crate) step: Rc<Cell<u32>>,
    nodes: Vec<Place>,
    /// Maps the number of a node in the simulation to the index of the node. A node gets a new
    /// number at each start, and numbers are never reused.
    indices: Vec<usize>,
    pub(crate) properties: Properties,
    faults: Faults,
    links: Links,
    pub(crate) disks: Disks,
    /// Range of the delays of messages, or `None` if any order is possible.
    latency: Option<Range<Nanos>>,
    allows_failures: bool,
    /// Values that are kept until the end of the run.
    kept: Vec<Box<dyn Any>>,
    failures: Arc<Failures<Failure>>,
    stage_failures: Arc<Failures<Broken>>,
    seed: u64,
}

/// A node with its number in the simulation.
struct Place {
    node: Node,
    /// Number that identifies the node in the simulation. The node gets a new number at each start.
    number: usize,
    clock: NodeClock,
    start: Option<Start>,
}

/// An observer that receives the facts that actors record.
struct Observer {
    facts: Rc<RefCell<Facts>>,
    clock: Clock,
    step: Rc<Cell<u32>>,
    faults: FaultWatch,
}

impl Task for Observer {
    type Message = Note;
    const INTERNAL: bool = true;

    fn receive(&mut self, note: Note, _: &Turn<'_, Note>) -> Flow {
        let (at, step) = (self.clock.now(), self.step.get());
        let mut facts = self.facts.borrow_mut();
        for fault in self.faults.take() {
            facts.add(Note::of(fault), at, step);
        }
        facts.add(note, at, step);
        Flow::Continue
    }
}

impl Sim {
    /// Creates a run without nodes. `seed` determines the seeds of the nodes.
    pub(crate) fn new(seed: u64) -> Self {
        stage::begin_run();
        let mut simulation = Simulation::new().unwrap_or_else(|| {
            panic!("a simulation runs on this thread already: simulations cannot be nested")
        });
        let (facts, clock, step) = (Rc::default(), Clock::default(), Rc::default());
        let disks = Disks::new(seed);
        let observer = Observer {
            facts: Rc::clone(&facts),
            clock: clock.clone(),
            step: Rc::clone(&step),
            faults: disks.watch(),
        };
        let world = Arc::new(SimWorld::new(NodeClock::new(clock.clone()), seed));
        let (node, _) = System::builder()
            .name("observer")
            .world(world)
            .open_in(&mut simulation)
            .unwrap_or_else(|error| panic!("a simulation cannot begin: {error}"));
        let observer = simulation.spawn(node, observer);
        simulation.make_prompt(&observer);
        simulation.caused().clear();
        simulation.births().clear();
        Self {
            _observing: Observing::begin(observer),
            simulation,
            clocks: Clocks::new(clock.clone(), seed),
            clock,
            facts,
            step,
            nodes: Vec::new(),
            indices: vec![usize::MAX],
            properties: Properties::default(),
            faults: Faults::default(),
            links: Links::default(),
            disks,
            latency: None,
            allows_failures: false,
            kept: Vec::new(),
            failures: Arc::default(),
            stage_failures: Arc::default(),
            seed,
        }
    }

    /// Returns the seed of the run. Use it for random choices of the setup.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the node with this name. If the node does not exist, adds it to the run and starts
    /// it.
    pub fn node(&mut self, name: impl AsRef<str>) -> Node {
        let name = name.as_ref();
        if let Some(place) = self.nodes.iter().find(|place| place.node.name() == name) {
            return place.node.clone();
        }
        let (number, node) = self.open(name.into(), self.nodes.len());
        self.nodes.push(Place {
            clock: self.clocks.of(name).clone(),
            node: node.clone(),
            number,
            start: None,
        });
        node
    }

    /// Opens the node `name`, and calls `start`, which must spawn the actors of the node. Calls
    /// `start` again each time that the node starts after a crash.
    ///
    /// # Panics
    /// Panics if the node exists.
    #[track_caller]
    pub fn restarting(
        &mut self,
        name: impl AsRef<str>,
        mut start: impl FnMut(&Node) + 'static,
    ) -> Node {
        let name = name.as_ref();
        assert!(
            self.index_of(name).is_none(),
            "the node {name:?} exists: call `restarting` before `node`"
        );
        let node = self.node(name);
        start(&node);
        let place = self.nodes.last_mut().expect("it was opened above");
        place.start = Some(Box::new(start));
        node
    }

    /// Opens a system for the node at an index. Returns the number of the system in the simulation,
    /// and the node.
    fn open(&mut self, name: Rc<str>, index: usize) -> (usize, Node) {
        let seed = mix(self.seed ^ self.nodes.len() as u64);
        let world = Arc::new(SimWorld::new(self.clocks.of(&name).clone(), seed));
        let failures = Arc::clone(&self.failures);
        let builder: Builder = System::builder()
            .name(&*name)
            .world(world)
            .report_restarts(false)
            .on_failure(move |failure| {
                if failure.message != CHOSEN_FAILURE {
                    failures.add(failure.clone());
                }
            });
        let (number, handle) = builder
            .open_in(&mut self.simulation)
            .unwrap_or_else(|error| panic!("the node {name:?} cannot be opened: {error}"));
        self.indices.push(index);
        debug_assert_eq!(self.indices.len(), number + 1, "numbers count upwards");
        let place = self.simulation.handle(number);
        let stage_failures = Arc::clone(&self.stage_failures);
        (number, Node::new(name, handle, place, stage_failures))
    }

    /// Declares a property that must hold after each step. `holds` is called after each step that
    /// has recorded a fact.
    pub fn always(
        &mut self,
        name: impl Into<String>,
        holds: impl FnMut(&Facts) -> bool + 'static,
    ) -> &mut Self {
        self.properties.add_always(name.into(), Box::new(holds));
        self
    }

    /// Declares a property that must hold at least once within the time `within` after the faults
    /// have ceased. A property that held only before the faults have ceased counts as broken.
    ///
    /// The faults cease when nothing is left to do, when the run has too many steps, or at the
    /// moment that [`Faults::cease_after`] or [`Faults::cease_after_steps`] sets. If messages have
    /// times ([`Sim::latency`]), and the part of the run without faults has too many steps, the run
    /// is cut off: a property whose time limit has not passed then is not broken.
    pub fn eventually(
        &mut self,
        name: impl Into<String>,
        within: Duration,
        holds: impl FnMut(&Facts) -> bool + 'static,
    ) -> &mut Self {
        self.properties
            .add_eventually(name.into(), within, Box::new(holds));
        self
    }

    /// Declares a property that must hold at the end of the run, when nothing is left to do. The
    /// property is not checked if the run is cut off.
    pub fn at_end(
        &mut self,
        name: impl Into<String>,
        holds: impl FnOnce(&Facts) -> bool + 'static,
    ) -> &mut Self {
        self.explained(name, move |facts| {
            if holds(facts) {
                Ok(())
            } else {
                Err(String::new())
            }
        })
    }

    /// Declares a property that must hold at the end of the run, like [`Sim::at_end`]. If the
    /// property does not hold, `check` returns an error with an explanation.
    pub fn explained(
        &mut self,
        name: impl Into<String>,
        check: impl FnOnce(&Facts) -> Result<(), String> + 'static,
    ) -> &mut Self {
        self.properties.add_at_end(name.into(), check);
        self
    }

    /// Declares a property that is checked at the end of the run: the history of the operations on
    /// an object is linearizable. `model` describes the object.
    ///
    /// Clients record [`Called`] and [`Returned`] facts. A client has only one call at a time. If
    /// it records another call before the previous one has returned, the previous call may take
    /// effect at any later time, or never.
    ///
    /// [`Called`]: crate::history::Called
    /// [`Returned`]: crate::history::Returned
    ///
    /// # Examples
    /// ```no_run
    /// use garrick_actor::Context;
    /// use garrick_sim::Sim;
    /// use garrick_sim::history::models::register::{Op, Register, Ret};
    /// use garrick_sim::history::{Called, Returned};
    ///
    /// fn note_write(cx: &Context<'_, ()>, client: u64) {
    ///     cx.note(Called { client, op: Op::Write(7) });
    ///     // .. and when the answer has come:
    ///     cx.note(Returned { client, ret: Ret::<i32>::Written });
    /// }
    ///
    /// fn setup(sim: &mut Sim) {
    ///     sim.linearizable(Register::new(0));
    /// }
    /// ```
    pub fn linearizable<M>(&mut self, model: M) -> &mut Self
    where
        M: Model + 'static,
        M::Op: Any,
        M::Ret: Any,
    {
        self.explained("linearizable", move |facts| {
            match facts.history::<M::Op, M::Ret>().check(&model) {
                Verdict::Linearizable(_) => Ok(()),
                Verdict::NotLinearizable(why) => Err(why.to_string()),
                Verdict::Unknown { explored } => Err(format!(
                    "the check has given up after {explored} configurations: make fewer calls at \
                     the same time"
                )),
            }
        })
    }

    /// Returns the settings for failing turns, crashing nodes and partitions. By default, there are
    /// no such faults.
    pub fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// Returns the clocks of the nodes, which all show the same time by default.
    pub fn clocks(&mut self) -> &mut Clocks {
        &mut self.clocks
    }

    /// Returns the links between nodes. By default, links do not delay, lose or repeat messages.
    pub fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    /// Returns the disk of the node `node`. The node must exist at the end of the setup. The disk
    /// is empty at first. Let the start function of the node capture the disk and pass it to the
    /// actors.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use garrick_actor::behavior;
    /// use garrick_actor::files::Files;
    /// use garrick_sim::Sim;
    ///
    /// Sim::check(|sim| {
    ///     let files: Arc<dyn Files> = Arc::new(sim.disk("n0"));
    ///     sim.restarting("n0", move |node| {
    ///         let files = Arc::clone(&files);
    ///         let keeps = behavior(move |text: &str, _| {
    ///             files.replace("last", text.as_bytes()).unwrap();
    ///         });
    ///         node.spawn(keeps).unwrap().send("one").unwrap();
    ///     });
    /// });
    /// ```
    pub fn disk(&mut self, node: impl AsRef<str>) -> Disk {
        self.disks.disk(node.as_ref())
    }

    /// Returns the rules of the disks: their space, their speed and their faults. By default, the
    /// only fault of a disk is that a crash may lose unsynced data.
    pub fn disks(&mut self) -> &mut Disks {
        &mut self.disks
    }

    /// Gives each message a delay in the range `delay`, so that messages and timers are handled in
    /// the order of their times. The search can choose only the order of events with the same time.
    /// Use this method for programs with timeouts, because their behavior depends on times.
    ///
    /// By default, there are no times: messages and timers can be handled in any order, except that
    /// messages from one sender to one receiver stay in order. A program that is correct in all
    /// these orders is correct for all delays.
    pub fn latency(&mut self, delay: Range<Duration>) -> &mut Self {
        self.latency = Some(nanos_of(&delay));
        self
    }

    /// Keeps a value until the end of the run, for example a supervision tree, whose children stop
    /// when the tree is dropped.
    pub fn keep(&mut self, value: impl Any) -> &mut Self {
        self.kept.push(Box::new(value));
        self
    }

    /// Allows actors and stages to fail by a panic or an error of their own code. By default, the
    /// run counts as failed if an actor or a stage fails and the simulation has not caused this
    /// failure.
    pub fn allow_failures(&mut self) -> &mut Self {
        self.allows_failures = true;
        self
    }
}

/// Methods for the execution of a run.
impl Sim {
    pub(crate) fn faults_and_links(&self) -> (&Faults, &Links) {
        (&self.faults, &self.links)
    }

    pub(crate) fn faults_mut(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// Adds a fact of the simulation itself.
    pub(crate) fn add_fact<F: Any + Debug + Send>(&self, fact: F) {
        let (at, step) = (self.clock.now(), self.step.get());
        self.facts.borrow_mut().add(Note::of(fact), at, step);
    }

    /// Adds a fact for each disk fault that was not recorded yet.
    pub(crate) fn add_disk_faults(&self) {
        for fault in self.disks.take_faults() {
            self.add_fact(fault);
        }
    }

    /// Removes and returns the records of the tasks that were created. Each record has the name of
    /// the task's node if there are several nodes.
    pub(crate) fn births_with_nodes(&mut self) -> Vec<(Birth, Option<String>)> {
        let births: Vec<Birth> = self.simulation.births().drain(..).collect();
        let has_several = self.nodes.len() > 1;
        let node_of = |birth: &Birth| has_several.then(|| self.name_of(birth.node).to_owned());
        births
            .into_iter()
            .map(|birth| (birth, node_of(&birth)))
            .collect()
    }

    pub(crate) fn spawn_task<T: Task>(&self, node: &Node, task: T) -> Address<T::Message> {
        let index = self.node_index(node.name());
        self.simulation.spawn(self.nodes[index].number, task)
    }

    /// Removes and returns the failures that the simulation has not caused, oldest first.
    pub(crate) fn take_failures(&self) -> Vec<Failure> {
        self.failures.take()
    }

    pub(crate) fn delays(&self) -> Option<&Range<Nanos>> {
        self.latency.as_ref()
    }

    /// Checks the setup before the first step.
    pub(crate) fn check_setup(&self) -> Result<(), String> {
        let nodes = self.node_names();
        let with_disks = self.disks.names();
        let with_disks = with_disks.iter().map(String::as_str);
        let of_faults = self.faults.names();
        let with_clocks = self.clocks.names();
        for name in (of_faults.chain(self.links.names()))
            .chain(with_disks)
            .chain(with_clocks)
        {
            if self.index_of(name).is_none() {
                return Err(format!("there is no node {name:?}, only {nodes:?}"));
            }
        }
        if self.nodes.is_empty() {
            return Err("there are no nodes: call `sim.node(..)` and spawn actors on it".into());
        }
        self.faults.mistake(&nodes).map_or(Ok(()), Err)
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.nodes
            .iter()
            .position(|place| place.node.name() == name)
    }

    /// Returns the index of the node `name`, which must exist.
    pub(crate) fn node_index(&self, name: &str) -> usize {
        self.index_of(name).expect("the setup was checked")
    }

    /// Returns the name of the node that has the given number in the simulation, even if this node
    /// has crashed.
    pub(crate) fn name_of(&self, number: usize) -> &str {
        self.name_at(self.indices[number])
    }

    /// Returns the names of the nodes, by index.
    pub(crate) fn node_names(&self) -> Vec<String> {
        let names = self.nodes.iter().map(|place| place.node.name());
        names.map(str::to_owned).collect()
    }

    /// Returns the name of the partition at an index.
    pub(crate) fn partition_name(&self, index: usize) -> String {
        let partition = self.faults.partitions.get(index);
        partition.map(Partition::name).unwrap_or_default()
    }

    /// Returns the names of the partitions, by index.
    pub(crate) fn partition_names(&self) -> Vec<String> {
        self.faults.partitions.iter().map(Partition::name).collect()
    }

    /// Allows the simulation to copy the messages that links may deliver twice.
    pub(crate) fn allow_copies(&mut self) {
        self.links.allow_copies(&mut self.simulation);
    }

    pub(crate) fn name_at(&self, index: usize) -> &str {
        self.nodes[index].node.name()
    }

    pub(crate) fn is_up(&self, index: usize) -> bool {
        self.simulation.is_open(self.nodes[index].number)
    }

    /// Crashes the node at an index.
    pub(crate) fn crash(&mut self, index: usize) {
        let sent = if self.faults.loses_sent == CERTAINLY {
            Sent::Vanishes
        } else {
            Sent::Stays
        };
        // The disk comes first: destructors of actors must not write.
        self.disks.crash(self.nodes[index].node.name());
        self.simulation.crash(self.nodes[index].number, sent);
    }

    /// Starts the node at an index after a crash.
    pub(crate) fn restart(&mut self, index: usize) {
        let (number, node) = self.open(self.nodes[index].node.name().into(), index);
        let place = &mut self.nodes[index];
        place.number = number;
        place.node = node;
        self.disks.start(place.node.name());
        if let Some(start) = &mut place.start {
            start(&place.node);
        }
        self.simulation.settle();
    }

    /// Returns true if any node has a timer.
    pub(crate) fn has_timers(&self) -> bool {
        self.nodes
            .iter()
            .any(|place| self.simulation.has_timers(place.number))
    }

    /// Returns the earliest deadline of the timers of all nodes.
    pub(crate) fn next_deadline(&self) -> Option<Nanos> {
        let deadlines = self
            .nodes
            .iter()
            .filter_map(|place| self.deadline_of(place));
        deadlines.min()
    }

    /// Returns the time of the simulation at which the next timer of a node is due.
    fn deadline_of(&self, place: &Place) -> Option<Nanos> {
        let deadline = self.simulation.next_deadline(place.number);
        deadline.map(|deadline| place.clock.to_simulation(deadline))
    }

    /// Sends the messages of all timers that are due.
    pub(crate) fn fire_due(&mut self) {
        let now = self.clock.now();
        for index in 0..self.nodes.len() {
            if self
                .deadline_of(&self.nodes[index])
                .is_some_and(|deadline| deadline <= now)
            {
                self.simulation.fire(self.nodes[index].number);
            }
        }
    }

    /// Returns a failure of an actor or a stage that the simulation has not caused. Returns `None`
    /// if there was none, or if failures are allowed.
    #[inline]
    pub(crate) fn take_failure(&self) -> Option<Broken> {
        if self.stage_failures.are_any() || self.failures.are_any() {
            self.take_first_failure()
        } else {
            None
        }
    }

    fn take_first_failure(&self) -> Option<Broken> {
        let of_stages = self.stage_failures.take().into_iter().next();
        if let Some(broken) = of_stages.filter(|_| !self.allows_failures) {
            return Some(broken);
        }
        let mut failures = self.take_failures().into_iter();
        let first = failures.find(|_| !self.allows_failures)?;
        let task = short_type_name(first.task);
        Some(Broken {
            property: match &first.path {
                Some(path) => format!("{task} {path}"),
                None => task,
            },
            why: match first.consequence {
                Consequence::Stopped => first.message,
                _ => format!("{} (its supervisor has handled it)", first.message),
            },
            kind: Kind::NoFailure,
        })
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim")
            .field("seed", &self.seed)
            .field("now", &self.clock.now())
            .field("facts", &self.facts.borrow())
            .finish_non_exhaustive()
    }
}
