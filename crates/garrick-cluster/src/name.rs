//! Names of nodes.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::error::JoinError;

/// Maximum length of a name in bytes.
const NAME_MAX: usize = 64;

/// Maximum length of the name of a service, in bytes.
pub const SERVICE_NAME_BYTES_MAX: usize = 1_024;

/// Checks the name of a service. A request to watch or to stop a service contains its name, and
/// must fit into each frame, because later requests wait for it.
pub(crate) fn check_service(name: &str) -> Result<(), JoinError> {
    let bytes = name.len();
    if bytes <= SERVICE_NAME_BYTES_MAX {
        return Ok(());
    }
    Err(JoinError::ServiceName {
        bytes,
        bytes_max: SERVICE_NAME_BYTES_MAX,
    })
}

/// Name of a node: 1 to 64 ASCII letters, digits, `-` and `_`.
///
/// # Examples
/// ```
/// use garrick_cluster::NodeName;
///
/// assert_eq!(NodeName::new("bank-1")?.as_str(), "bank-1");
/// assert!(NodeName::new("bank.1").is_err());
/// # Ok::<(), garrick_cluster::JoinError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// Returns the node name with the text `name`.
    ///
    /// # Errors
    /// Returns [`JoinError::Name`] if the text does not consist of 1 to 64 ASCII letters, digits,
    /// `-` and `_`.
    pub fn new(name: &str) -> Result<Self, JoinError> {
        if Self::is_allowed(name) {
            return Ok(Self(name.into()));
        }
        Err(JoinError::Name {
            name: name.chars().take(NAME_MAX).collect(),
        })
    }

    /// Returns true if a node may have this name.
    pub(crate) fn is_allowed(name: &str) -> bool {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_allowed)
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// Allows looking up a node by its name as text.
impl Borrow<str> for NodeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
