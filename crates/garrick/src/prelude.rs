//! Names that most programs with actors use: `use garrick::prelude::*`.

pub use garrick_actor::{
    Actor, Address, Behavior, BehaviorContext, Context, Local, Next, NoReply, Reply, System,
    behavior,
};
