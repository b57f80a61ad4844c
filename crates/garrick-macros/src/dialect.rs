//! The attributes that turn an `impl` block into an actor.

/// The attribute that turns an `impl` block into an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dialect {
    /// The attribute `#[garrick::actor]`, for plain actors.
    #[default]
    Actor,
    /// The attribute `#[garrick::durable]`, for durable actors.
    Durable,
}

impl Dialect {
    /// Returns the name of the attribute: `actor` or `durable`. The marks of methods, such as
    /// `#[actor(skip)]`, have the same name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Durable => "durable",
        }
    }

    /// Returns `Durable` for `Actor`, and `Actor` for `Durable`.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Actor => Self::Durable,
            Self::Durable => Self::Actor,
        }
    }

    /// Returns the end of an error message about a method: the suggestion to exclude the method
    /// from the actor.
    pub(crate) fn or_skip(self) -> String {
        let name = self.name();
        format!("or mark the method `#[{name}(skip)]` to exclude it from the actor")
    }

    /// Returns the receivers that a method may have if it handles a message, as a text for error
    /// messages.
    pub(crate) fn receivers(self) -> &'static str {
        match self {
            Self::Actor => "`&mut self` or `&self`",
            Self::Durable => "`&self`",
        }
    }
}
