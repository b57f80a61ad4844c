//! Finds scenarios by name in a list.
//!
//! A name stands for one scenario or for a family. For example, `mailbox` stands for
//! `mailbox-offer` and `mailbox-take` if no scenario is called `mailbox` itself.

use crate::scenario::Scenario;

/// Returns the scenarios of `list` that `names` select, in the order of `list`. Returns all
/// scenarios if there are no names. Fails with the first name that selects no scenario.
pub(crate) fn choose<'a>(
    list: &[&'static Scenario],
    names: &'a [String],
) -> Result<Vec<&'static Scenario>, &'a str> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !list.iter().any(|scenario| is_meant(list, name, scenario)))
    {
        return Err(unknown);
    }
    let chosen = list.iter().copied().filter(|scenario| {
        names.is_empty() || names.iter().any(|name| is_meant(list, name, scenario))
    });
    Ok(chosen.collect())
}

/// Returns true if `name` selects `scenario`, which is contained in `list`.
fn is_meant(list: &[&Scenario], name: &str, scenario: &Scenario) -> bool {
    if list.iter().any(|other| other.name == name) {
        return scenario.name == name;
    }
    let rest = scenario.name.strip_prefix(name);
    !name.is_empty() && rest.is_some_and(|rest| rest.starts_with('-'))
}

/// Returns the names of all scenarios in `list`, for an error message.
pub(crate) fn names(list: &[&Scenario]) -> String {
    let names: Vec<&str> = list.iter().map(|scenario| scenario.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(name: &'static str) -> Scenario {
        Scenario {
            name,
            operation: "one choice",
            contenders: |_| Vec::new(),
        }
    }

    static LIST: &[Scenario] = &[
        named("rmw"),
        named("tell"),
        named("tell-one"),
        named("tree-in"),
        named("tree-out"),
    ];

    fn list() -> Vec<&'static Scenario> {
        LIST.iter().collect()
    }

    fn chosen(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let chosen = choose(&list(), &names).unwrap();
        chosen.iter().map(|scenario| scenario.name).collect()
    }

    #[test]
    fn choosing_keeps_the_lists_order() {
        assert_eq!(
            chosen(&["tell-one", "rmw", "tell-one"]),
            ["rmw", "tell-one"]
        );
        assert_eq!(chosen(&[]).len(), LIST.len());
    }

    #[test]
    fn a_family_is_chosen_by_its_name() {
        assert_eq!(chosen(&["tree"]), ["tree-in", "tree-out"]);
        assert_eq!(chosen(&["tree-out", "tree"]), ["tree-in", "tree-out"]);
    }

    #[test]
    fn a_scenario_goes_before_a_family_of_its_name() {
        assert_eq!(chosen(&["tell"]), ["tell"]);
    }

    #[test]
    fn unknown_names_are_named() {
        for unknown in ["rnw", "tre", "tree-", "-in", ""] {
            let names = ["rmw".to_owned(), unknown.to_owned()];
            assert_eq!(choose(&list(), &names).unwrap_err(), unknown);
        }
    }

    #[test]
    fn names_are_told_in_order() {
        assert_eq!(names(&list()), "rmw, tell, tell-one, tree-in, tree-out");
    }
}
