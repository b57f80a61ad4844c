//! The trace of a run: a readable list of its steps.

use std::fmt::{self, Write};

use garrick_actor::short_type_name;
use garrick_flow::simulated::STEP;
use garrick_sched::{Birth, Choice, Circumstances, Fate, Nanos, TaskName};
use hashbrown::HashMap;

use crate::event::Event;
use crate::schedule::receiver_of;
use crate::stage::is_stage;

/// The steps of a run, with the names of the actors.
#[derive(Debug, Default)]
pub struct Trace {
    steps: Vec<Traced>,
    /// Display name of each task.
    names: HashMap<TaskName, String>,
    /// For each type, the number of tasks that were created so far.
    counts: HashMap<String, u32>,
    /// Names of the nodes, by index.
    pub(crate) nodes: Vec<String>,
    /// Names of the partitions, by index.
    pub(crate) partitions: Vec<String>,
}

/// A step of a trace.
#[derive(Debug)]
struct Traced {
    at: Nanos,
    kind: Happened,
    fate: Fate,
    undone: bool,
    facts: Vec<String>,
}

/// The event that happens in a step.
#[derive(Debug)]
enum Happened {
    Starts(String),
    Delivers {
        from: String,
        to: String,
        message: String,
    },
    /// A stage of a pipeline takes its next step.
    Steps(String),
    /// A stage of a pipeline is woken. The stage takes a step if it has work.
    Wakes {
        from: String,
        to: String,
        how: &'static str,
    },
    TimePasses,
    Crashes(String),
    Restarts(String),
    Cuts(String),
    Heals(String),
}

impl Trace {
    /// Records the tasks that were created, and gives them names.
    pub(crate) fn add_births(&mut self, births: &[(Birth, Option<String>)]) {
        for (birth, node) in births {
            let of_type = short_type_name(birth.type_name);
            let count = self.counts.entry(of_type.clone()).or_default();
            *count += 1;
            let name = match node {
                Some(node) => format!("{node}:{of_type}#{count}"),
                None => format!("{of_type}#{count}"),
            };
            self.names.insert(birth.task, name);
        }
    }

    pub(crate) fn add_step(
        &mut self,
        at: Nanos,
        choice: Choice,
        fate: Fate,
        undone: bool,
        about: Option<(Circumstances, Option<String>)>,
        facts: Vec<String>,
    ) {
        let message = about
            .as_ref()
            .map_or_else(String::new, |(about, _)| message_of(about));
        let of_stage = about.as_ref().and_then(|(about, _)| kind_of_stage(about));
        if let Some((_, Some(label))) = about
            && let Some(to) = receiver_of(choice)
        {
            let label = match of_stage {
                Some(_) => self.with_node(to, label),
                None => label,
            };
            self.names.insert(to, label);
        }
        let kind = match (choice, of_stage) {
            (Choice::Deliver { to, .. }, Some(STEP)) => Happened::Steps(self.name(to)),
            (Choice::Deliver { from, to }, Some(how)) => Happened::Wakes {
                from: self.name(from),
                to: self.name(to),
                how,
            },
            (Choice::Start { task }, _) => Happened::Starts(self.name(task)),
            (Choice::Deliver { from, to }, None) => Happened::Delivers {
                from: self.name(from),
                to: self.name(to),
                message,
            },
            (Choice::Other(number), _) => self.event(Event::of_number(number)),
        };
        if let (Choice::Deliver { from, .. }, Fate::Doubled) = (choice, fate) {
            let name = format!("{} (again)", self.name(from));
            self.names.insert(from.of_copies(), name);
        }
        self.steps.push(Traced {
            at,
            kind,
            fate,
            undone,
            facts,
        });
    }

    /// Returns the name of a stage: its label, preceded by the name of its node if there are
    /// several nodes.
    fn with_node(&self, stage: TaskName, label: String) -> String {
        let name = self.names.get(&stage);
        let node = name.and_then(|name| name.split_once(':'));
        match node {
            Some((node, _)) if self.nodes.iter().any(|other| other == node) => {
                format!("{node}:{label}")
            }
            _ => label,
        }
    }

    /// Returns the description of an event of the simulation itself.
    fn event(&self, event: Event) -> Happened {
        let node = |index: usize| self.nodes.get(index).cloned().unwrap_or_default();
        let cut = |index: usize| self.partitions.get(index).cloned().unwrap_or_default();
        match event {
            Event::Time => Happened::TimePasses,
            Event::Crash(index) => Happened::Crashes(node(index)),
            Event::Restart(index) => Happened::Restarts(node(index)),
            Event::Cut(index) => Happened::Cuts(cut(index)),
            Event::Heal(index) => Happened::Heals(cut(index)),
        }
    }

    fn name(&self, task: TaskName) -> String {
        if task == TaskName::OUTSIDE {
            return "setup".to_owned();
        }
        self.names
            .get(&task)
            .cloned()
            .unwrap_or_else(|| "timer".to_owned())
    }

    /// Returns the names of the types of the actors.
    pub(crate) fn types(&self) -> impl Iterator<Item = &str> {
        self.counts.keys().map(String::as_str)
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the trace as a sequence diagram in the language of Mermaid.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut text = String::from("sequenceDiagram\n");
        for step in &self.steps {
            let _ = step.write_mermaid(&mut text);
        }
        text
    }
}

impl Traced {
    /// Returns the remark that follows the step in the trace, such as `LOST` or `undone`.
    fn remark(&self) -> &'static str {
        match (self.fate, self.undone) {
            (Fate::Lost, _) => " LOST",
            (Fate::Doubled, true) => " undone, COPIED",
            (Fate::Doubled, false) => " COPIED",
            (Fate::Fails, true) => " FAILS, undone",
            (_, true) => " undone",
            _ => "",
        }
    }

    fn write_mermaid(&self, f: &mut String) -> fmt::Result {
        let remark = self.remark();
        let about = match &self.kind {
            Happened::Starts(task) => {
                writeln!(f, "    Note over {}: starts{remark}", word(task))?;
                task
            }
            Happened::Delivers { from, to, message } => {
                let arrow = if self.fate == Fate::Lost { "-x" } else { "->>" };
                let (from, to) = (word(from), word(to));
                writeln!(f, "    {from}{arrow}{to}: {message}{remark}")?;
                &to.clone()
            }
            Happened::Steps(stage) => {
                writeln!(f, "    Note over {}: steps{remark}", word(stage))?;
                stage
            }
            Happened::Wakes { from, to, how } => {
                writeln!(f, "    {}->>{}: {how}{remark}", word(from), word(to))?;
                to
            }
            Happened::TimePasses => {
                writeln!(f, "    Note right of setup: {} ms", millis(self.at))?;
                return Ok(());
            }
            Happened::Crashes(node) => {
                return writeln!(f, "    Note right of setup: {node} crashes");
            }
            Happened::Restarts(node) => {
                return writeln!(f, "    Note right of setup: {node} starts");
            }
            Happened::Cuts(nodes) => {
                return writeln!(f, "    Note right of setup: {nodes} cut off");
            }
            Happened::Heals(nodes) => {
                return writeln!(f, "    Note right of setup: {nodes} reachable again");
            }
        };
        for fact in &self.facts {
            writeln!(
                f,
                "    Note over {}: {}",
                word(about),
                fact.replace([';', '#'], " ")
            )?;
        }
        Ok(())
    }
}

/// Formats the trace as text, with a line for each step and for each fact.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            write!(f, "{number:5}  {:>12}  ", millis(step.at))?;
            match &step.kind {
                Happened::Starts(task) => write!(f, "{task} starts")?,
                Happened::Delivers { from, to, message } => write!(f, "{from} -> {to}: {message}")?,
                Happened::Steps(stage) => write!(f, "{stage} steps")?,
                Happened::Wakes { from, to, how } => write!(f, "{from} -> {to}: {how}")?,
                Happened::TimePasses => write!(f, "time passes")?,
                Happened::Crashes(node) => write!(f, "{node} crashes")?,
                Happened::Restarts(node) => write!(f, "{node} starts again")?,
                Happened::Cuts(nodes) => write!(f, "partition: {nodes} cut off")?,
                Happened::Heals(nodes) => write!(f, "partition heals: {nodes} reachable again")?,
            }
            writeln!(f, "{}", step.remark())?;
            for fact in &step.facts {
                writeln!(f, "                       * {fact}")?;
            }
        }
        Ok(())
    }
}

/// Returns the kind of message that is delivered to a stage of a pipeline. Returns `None` if the
/// receiver is an actor, or if the message is a request to stop.
fn kind_of_stage(about: &Circumstances) -> Option<&'static str> {
    about.kind.filter(|_| is_stage(about.type_name))
}

/// Returns the name of a message's type, followed by the kind of the message if it has one. For a
/// step without a message, returns a fixed text.
fn message_of(about: &Circumstances) -> String {
    if !about.is_message {
        return if about.is_turn {
            "wake"
        } else {
            "stop or move"
        }
        .to_owned();
    }
    let of_type = short_type_name(about.message);
    match about.kind {
        Some(kind) => format!("{of_type}::{kind}"),
        None => of_type,
    }
}

/// Formats a time in milliseconds. Omits the fraction if it is 0.
fn millis(time: Nanos) -> String {
    let (whole, rest) = (time / 1_000_000, time % 1_000_000);
    if rest == 0 {
        return format!("{whole}");
    }
    format!("{whole}.{rest:06}")
        .trim_end_matches('0')
        .to_owned()
}

/// Replaces each character that is neither a letter nor a digit with `_`, so that Mermaid accepts
/// the name.
fn word(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect()
}
