//! Names of subjects and buckets, and the permissions for them.
//!
//! | name | use |
//! | --- | --- |
//! | `g.<cluster>.n.<node>.<life>` | subject of the frames to an incarnation (`life`) of a node |
//! | `g.<cluster>.i.<node>.>` | subjects of the answers of the server to a node, and of its echoes |
//! | `g_<cluster>_nodes` | bucket of the records of the nodes |
//! | `g_<cluster>_place` | bucket of the records of the placement |
//! | `<node>` | key of the record of a node |
//! | `<node>.probe` | key with which a node finds out if the bucket takes updates |

use async_nats::Subject;

use crate::error::JoinError;
use crate::name::NodeName;

/// Checks the name of a cluster, which is part of the names of subjects.
pub(super) fn check_cluster(cluster: &str) -> Result<(), JoinError> {
    match NodeName::new(cluster) {
        Ok(_) => Ok(()),
        Err(_) => Err(JoinError::Transport {
            why: format!(
                "{cluster:?} is not a valid name for a cluster on NATS: it must have 1 to 64 letters, \
                 digits, `-` or `_` of ASCII"
            ),
        }),
    }
}

/// Returns the subject of the frames to an incarnation of a node.
pub(super) fn subject(cluster: &str, node: &str, life: u64) -> Subject {
    format!("g.{cluster}.n.{node}.{life}").into()
}

/// Returns the node and the incarnation to which a subject belongs.
pub(super) fn node_of<'a>(cluster: &str, subject: &'a str) -> Option<(&'a str, u64)> {
    let rest = subject.strip_prefix("g.")?.strip_prefix(cluster)?;
    let (node, life) = rest.strip_prefix(".n.")?.split_once('.')?;
    let is_canonical = life.bytes().all(|byte| byte.is_ascii_digit()) && !life.starts_with('0');
    let life = is_canonical.then(|| life.parse().ok()).flatten()?;
    NodeName::is_allowed(node).then_some((node, life))
}

/// Returns the prefix of the subjects on which a node receives answers.
pub(super) fn inbox(cluster: &str, node: &NodeName) -> String {
    format!("g.{cluster}.i.{node}")
}

/// Returns the name of the bucket with the records of the nodes.
pub(super) fn bucket(cluster: &str) -> String {
    format!("g_{cluster}_nodes")
}

/// Returns the name of the bucket with the records of the placement.
pub(super) fn placement(cluster: &str) -> String {
    format!("g_{cluster}_place")
}

/// Returns the key that a node updates to find out whether the bucket accepts updates.
pub(super) fn probe(node: &NodeName) -> String {
    format!("{node}.probe")
}

/// Returns the permissions of a node for the configuration of the NATS server: the content of the
/// block `permissions { .. }` of the node's user. The node may send frames to each node of its
/// cluster, change its own record and the records of the placement, and use all journals. The node
/// receives only frames to itself, and answers of the server to its own requests.
///
/// # Errors
/// Returns an error if a name is not allowed.
///
/// # Examples
/// ```
/// use garrick_cluster::nats::permissions;
///
/// let permissions = permissions("bank", "bank-1")?;
/// assert!(permissions.contains(r#""g.bank.n.bank-1.*""#));
/// let users = format!("authorization {{ users = [ {{
///     user: bank-1, password: $BANK_1_PASSWORD
///     permissions {permissions}
/// }} ] }}");
/// # Ok::<(), garrick_cluster::JoinError>(())
/// ```
pub fn permissions(cluster: &str, node: &str) -> Result<String, JoinError> {
    check_cluster(cluster)?;
    let node = NodeName::new(node)?;
    let (bucket, inbox, probe) = (bucket(cluster), inbox(cluster, &node), probe(&node));
    let place = placement(cluster);
    let (events, states) = (format!("g_{cluster}_events"), format!("g_{cluster}_states"));
    Ok(format!(
        r#"{{
    publish: {{ allow: [
        "g.{cluster}.n.>"
        "{inbox}.*"
        "$KV.{bucket}.{node}"
        "$KV.{bucket}.{probe}"
        "$JS.API.STREAM.CREATE.KV_{bucket}"
        "$JS.API.STREAM.INFO.KV_{bucket}"
        "$JS.API.STREAM.MSG.GET.KV_{bucket}"
        "$JS.API.CONSUMER.CREATE.KV_{bucket}"
        "$JS.API.CONSUMER.CREATE.KV_{bucket}.>"
        "$JS.API.CONSUMER.DELETE.KV_{bucket}.>"
        "$JS.FC.KV_{bucket}.>"
        "$KV.{place}.>"
        "$JS.API.STREAM.CREATE.KV_{place}"
        "$JS.API.STREAM.INFO.KV_{place}"
        "$JS.API.STREAM.MSG.GET.KV_{place}"
        "$JS.API.CONSUMER.CREATE.KV_{place}"
        "$JS.API.CONSUMER.CREATE.KV_{place}.>"
        "$JS.API.CONSUMER.DELETE.KV_{place}.>"
        "$JS.FC.KV_{place}.>"
        "g.{cluster}.e.>"
        "g.{cluster}.s.>"
        "$JS.API.STREAM.CREATE.{events}"
        "$JS.API.STREAM.INFO.{events}"
        "$JS.API.STREAM.MSG.GET.{events}"
        "$JS.API.STREAM.PURGE.{events}"
        "$JS.API.STREAM.CREATE.{states}"
        "$JS.API.STREAM.INFO.{states}"
        "$JS.API.STREAM.MSG.GET.{states}"
    ] }}
    subscribe: {{ allow: ["g.{cluster}.n.{node}.*", "{inbox}.>"] }}
}}"#
    ))
}

#[cfg(test)]
mod tests {
    use super::{node_of, subject};

    #[test]
    fn a_subject_tells_the_node_and_its_life() {
        let own = subject("bank", "bank-1", 12);
        assert_eq!(node_of("bank", &own), Some(("bank-1", 12)));
        assert_eq!(node_of("ban", &own), None);
        assert_eq!(node_of("bank2", &own), None);
        for other in [
            "g.bank.n.bank-1",
            "g.bank.n.bank-1.",
            "g.bank.n.bank-1.0",
            "g.bank.n.bank-1.01",
            "g.bank.n.bank-1.+1",
            "g.bank.n.bank-1.1.2",
            "g.bank.n.a*.1",
            "g.bank.n..1",
            "g.bank.n.bank-1.99999999999999999999",
            "g.bank.i.bank-1.1",
        ] {
            assert_eq!(node_of("bank", other), None, "{other}");
        }
    }
}
