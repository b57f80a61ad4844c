//! Names of nodes, channels and sponsors in the labels of metrics.
//!
//! A label is the shortened display name of its owner. Labels are unique within a scope, such as
//! all nodes of one sponsor or team. If a label is in use already, a number is appended: `Counter`,
//! `Counter#2`. An owner keeps its label until the owner vanishes or gets another name. So two
//! owners never exchange their labels, and the time series of an owner never continues with the
//! values of another owner.

use std::collections::{HashMap, HashSet};

use garrick_core::text;

/// Maximum length of a label in bytes, not counting the number that makes the label unique.
const LABEL_MAX: usize = 80;

/// The scope in which a label is unique: a kind of items, such as `node`, and the name of the
/// sponsor, team or cluster node that contains the labeled item. (A sponsor is a set of threads
/// that run actors. A team consists of stages that share a thread.) The name is empty if the label
/// is unique in the whole process.
pub(super) type Scope<'a> = (&'static str, &'a str);

/// A label that a node, channel or sponsor (a set of threads that run actors) uses at present.
#[derive(Debug)]
struct Given {
    scope: (&'static str, String),
    /// Display name from which the label was derived.
    name: String,
    label: String,
    /// Sequence number of the latest sample that contains the owner of the label.
    seen: u64,
}

/// All labels in use, by the identifiers of their owners.
#[derive(Debug, Default)]
pub(super) struct Labels {
    given: HashMap<String, Given>,
    taken: HashSet<(&'static str, String, String)>,
    /// Number of samples so far.
    looks: u64,
}

impl Labels {
    /// Records that the next sample begins.
    pub(super) fn begin(&mut self) {
        self.looks += 1;
    }

    /// Returns the label of the owner `id` with the display name `name`. Creates a label if the
    /// owner has none, or if its scope or name has changed.
    pub(super) fn of(&mut self, id: &str, scope: Scope<'_>, name: &str) -> String {
        let looks = self.looks;
        if let Some(given) = self.given.get_mut(id) {
            if given.name == name && (given.scope.0, &*given.scope.1) == scope {
                given.seen = looks;
                return given.label.clone();
            }
            self.give_back(id);
        }
        self.give(id, scope, name)
    }

    fn give(&mut self, id: &str, scope: Scope<'_>, name: &str) -> String {
        let mut first = short(name);
        if first.trim().is_empty() {
            // Prometheus treats an empty label like a missing one.
            first = scope.0.to_owned();
        }
        let numbered = (2..).map(|number: u64| format!("{first}#{number}"));
        let mut labels = std::iter::once(first.clone()).chain(numbered);
        let (kind, place) = (scope.0, scope.1.to_owned());
        let label = labels.find(|label| self.taken.insert((kind, place.clone(), label.clone())));
        let label = label.unwrap_or_default();
        let given = Given {
            scope: (kind, place),
            name: name.to_owned(),
            label: label.clone(),
            seen: self.looks,
        };
        self.given.insert(id.to_owned(), given);
        label
    }

    fn give_back(&mut self, id: &str) {
        if let Some(given) = self.given.remove(id) {
            let (kind, place) = given.scope;
            self.taken.remove(&(kind, place, given.label));
        }
    }

    /// Records the end of a sample. Frees the labels of nodes, channels and sponsors (sets of
    /// threads that run actors) that the sample does not contain.
    pub(super) fn end(&mut self) {
        let Self {
            given,
            taken,
            looks,
        } = self;
        given.retain(|_, given| {
            let stays = given.seen == *looks;
            if !stays {
                let (kind, place) = given.scope.clone();
                taken.remove(&(kind, place, given.label.clone()));
            }
            stays
        });
    }
}

/// Removes modules from the names of types within `name`, and removes the braces around `closure`.
/// Truncates a name that is too long. Other text, such as the name of a stage, is not changed.
pub(super) fn short(name: &str) -> String {
    let name = name.replace("{{closure}}", "closure");
    let words = name.split_inclusive(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
    let mut short: String = words.map(last_segment).collect();
    if short.len() > LABEL_MAX {
        short.truncate(text::beginning(&short, LABEL_MAX - "..".len()).len());
        short.push_str("..");
    }
    short
}

/// Returns the part of a path after the last `::`.
fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(labels: &mut Labels, owners: &[(&str, &str, &str)]) -> Vec<String> {
        labels.begin();
        let owners = owners.iter();
        let given = owners.map(|(id, place, name)| labels.of(id, ("node", place), name));
        let given = given.collect();
        labels.end();
        given
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number_and_keeps_it() {
        let mut labels = Labels::default();
        let (a, b, c) = (("a", "p", "X"), ("b", "p", "X"), ("c", "q", "X"));
        assert_eq!(look(&mut labels, &[a, b, c]), ["X", "X#2", "X"]);
        // Another order changes nothing.
        assert_eq!(look(&mut labels, &[c, b, a]), ["X", "X#2", "X"]);
        let newcomer = ("0", "p", "X");
        assert_eq!(
            look(&mut labels, &[newcomer, a, b, c]),
            ["X#3", "X", "X#2", "X"]
        );
    }

    #[test]
    fn a_label_is_free_after_its_owner_vanished_or_was_renamed() {
        let mut labels = Labels::default();
        assert_eq!(look(&mut labels, &[("a", "p", "X")]), ["X"]);
        assert!(look(&mut labels, &[]).is_empty());
        assert_eq!(look(&mut labels, &[("b", "p", "X")]), ["X"]);
        assert_eq!(
            look(&mut labels, &[("b", "p", "Y"), ("c", "p", "X")]),
            ["Y", "X"]
        );
        assert_eq!(labels.given.len(), labels.taken.len());
    }

    #[test]
    fn a_name_that_looks_numbered_is_never_given_twice() {
        let mut labels = Labels::default();
        let owners = [("a", "", "X"), ("b", "", "X#2"), ("c", "", "X")];
        assert_eq!(look(&mut labels, &owners), ["X", "X#2", "X#3"]);
    }

    #[test]
    fn owners_without_a_name_are_called_by_their_kind() {
        let owners = [("a", "", ""), ("b", "", " "), ("c", "", "node")];
        let given = look(&mut Labels::default(), &owners);
        assert_eq!(given, ["node", "node#2", "node#3"]);
    }

    #[test]
    fn labels_have_no_modules_no_braces_and_a_limit() {
        for (name, expected) in [
            ("Counter", "Counter"),
            ("app::orders::Book<alloc::string::String>", "Book<String>"),
            ("app::run::{{closure}}", "closure"),
            ("With<{{closure}}, u64>", "With<closure, u64>"),
            ("read: the input", "read: the input"),
            ("", ""),
        ] {
            assert_eq!(short(name), expected);
        }
        let long = short(&"ß".repeat(300));
        assert!(long.len() <= LABEL_MAX && long.ends_with("ß.."), "{long}");
    }
}
