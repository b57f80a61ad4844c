//! Names that most programs with actors need. Import them with `use garrick::prelude::*`.

pub use garrick_actor::{
    Actor, Address, Behavior, BehaviorContext, Context, Local, Next, NoReply, Reply, System,
    behavior,
};
