//! Records of services and names.

use std::sync::Arc;

use garrick_wire::{MessageId, Wire};

use crate::name::NodeName;

/// Maximum number of actors that a node offers under one key.
pub(crate) const INSTANCES_MAX: usize = 1_024;

/// Maximum number of keys under which a node offers actors.
pub(crate) const SERVICES_MAX: usize = 1_024;

/// Maximum number of names that a node registers.
pub(crate) const NAMES_MAX: usize = 1_024;

/// Maximum number of calls that wait until an actor gets a name.
pub(crate) const CALLS_MAX: usize = 1_024;

/// Key of a service: its name, and the type of its messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ServiceKey {
    pub(crate) name: Arc<str>,
    pub(crate) of: MessageId,
}

/// Content of the record that lists the actors that a node offers under a key.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
#[wire(name = "garrick.Served", version = 2)]
pub(crate) struct Served {
    /// Epoch (the number) of the node's membership. After the end of that membership, the record
    /// has no effect.
    #[wire(1)]
    pub(crate) epoch: u64,
    /// Incarnation of the node, which grows each time the node starts.
    #[wire(2)]
    pub(crate) life: u64,
    /// Numbers of the actors, sorted. Two actors never have the same number in one incarnation of
    /// the node.
    #[wire(3)]
    pub(crate) numbers: Vec<u64>,
}

/// Content of a record that assigns a name to an actor.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
#[wire(name = "garrick.Registered", version = 2)]
pub(crate) struct Registered {
    /// Name of the node on which the actor with this name runs.
    #[wire(1)]
    pub(crate) node: String,
    /// Epoch (the number) of the node's membership. The name is free after the end of that
    /// membership.
    #[wire(2)]
    pub(crate) epoch: u64,
    /// Incarnation of the node, which grows each time the node starts.
    #[wire(3)]
    pub(crate) life: u64,
    /// Number of the actor, which is unique in this incarnation of the node.
    #[wire(4)]
    pub(crate) number: u64,
    /// Identity of the actor's message type.
    #[wire(5)]
    pub(crate) of: u64,
}

/// A parsed key of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Key of the record that lists the actors that a node offers as a service.
    Served(NodeName, ServiceKey),
    /// Key of the record that states which actor has a name.
    Name(Arc<str>),
}

impl Key {
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::Served(node, ServiceKey { name, of }) => {
                format!("served.{node}.{name}.{of}").into()
            }
            Self::Name(name) => format!("name.{name}").into(),
        }
    }

    /// Parses the key of a record. Returns `None` if the record does not belong to a directory.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let key = match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
            ("served", node, Some(name), Some(of)) => {
                let number = u64::from_str_radix(of, 16).ok()?;
                let (name, of) = (name.into(), MessageId::from_bytes(number.to_be_bytes()));
                Self::Served(NodeName::new(node).ok()?, ServiceKey { name, of })
            }
            ("name", name, None, None) => Self::Name(name.into()),
            _ => return None,
        };
        // A key that is written in another way is another key.
        (*key.text() == *text).then_some(key)
    }
}

/// An actor that a node offers as a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Instance {
    pub(crate) node: NodeName,
    pub(crate) life: u64,
    pub(crate) number: u64,
}

/// An actor that is registered under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Identity of the message type.
    pub(crate) of: MessageId,
    pub(crate) instance: Instance,
}

/// Prefix of the names of services by which other nodes reach listed actors.
const SERVED: &str = "garrick.served.";

impl Instance {
    /// Returns the name of the service by which other nodes reach the actor with the number
    /// `number`. `life` is the incarnation of the node of this actor.
    pub(crate) fn service(life: u64, number: u64) -> String {
        format!("{SERVED}{life}.{number}")
    }

    /// Parses the name of a service by which other nodes reach an actor that a directory lists.
    /// Returns the number of the actor. Returns `None` for the name of any other service.
    pub(crate) fn number_of(service: &str) -> Option<u64> {
        let (_, number) = service.strip_prefix(SERVED)?.split_once('.')?;
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Instance, Key, MessageId, NodeName, ServiceKey};

    #[test]
    fn keys_are_read_as_they_were_written() {
        let (node, of) = (NodeName::new("bank-1").unwrap(), MessageId::of("a"));
        let name = "printers".into();
        let key = Key::Served(node, ServiceKey { name, of });
        assert_eq!(Key::read(&key.text()), Some(key.clone()));
        let leader = Key::Name("leader".into());
        assert_eq!(Key::read(&leader.text()), Some(leader));
        let text = key.text();
        for other in [
            "",
            "served",
            "name",
            "name.a.b",
            "served.bank-1.printers",
            "served.bank-1.printers.ABC",
            "served.bank-1.printers.1",
            "member.bank-1.printers.0000000000000001",
            &format!("{text}.1"),
            &text.to_uppercase(),
        ] {
            assert_eq!(Key::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_service_has_the_number_of_its_actor() {
        assert_eq!(Instance::number_of(&Instance::service(7, 12)), Some(12));
        for other in ["printers", "garrick.served.", "garrick.served.1.a"] {
            assert_eq!(Instance::number_of(other), None);
        }
    }
}
