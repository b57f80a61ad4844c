//! The attributes that turn a block into an actor.

/// The attribute of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dialect {
    /// `#[garrick::actor]`.
    #[default]
    Actor,
    /// `#[garrick::durable]`.
    Durable,
}

impl Dialect {
    /// Returns the name of the attribute, and of the marks of methods.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Durable => "durable",
        }
    }

    /// Returns the dialect with the other marks.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Actor => Self::Durable,
            Self::Durable => Self::Actor,
        }
    }

    /// Returns the end of an error about a method: the method can be excluded.
    pub(crate) fn or_skip(self) -> String {
        let name = self.name();
        format!("or mark the method `#[{name}(skip)]` to exclude it from the actor")
    }

    /// Returns the receivers of a method that handles a message.
    pub(crate) fn receivers(self) -> &'static str {
        match self {
            Self::Actor => "`&mut self` or `&self`",
            Self::Durable => "`&self`",
        }
    }
}
