//! What most programs with actors name: `use garrick::prelude::*`.

pub use garrick_actor::{
    Actor, Address, Behavior, BehaviorContext, Context, Contramap, Local, Next, NoReply, Reply,
    System, behavior,
};
