//! Tests `#[garrick::actor]` if the crate has another name, and if a macro generates the block.
//! Also tests which modules see the generated items.
extern crate garrick as theatre;

mod stage {
    use crate::theatre::{self, Context, Next};

    pub(crate) struct Actor;

    macro_rules! part {
        ($name:ident, $said:ty) => {
            #[theatre::actor(crate = crate::theatre, pub(crate), message = Cue, handle = Prompter)]
            impl $name {
                fn say(&mut self, _: $said, _: &mut Context<'_, Cue>) -> Next {
                    Next::Continue
                }

                pub(super) fn said(&self) -> $said {
                    Default::default()
                }
            }
        };
    }

    part!(Actor, Vec<u8>);
}

#[theatre::actor]
#[cfg(any())]
impl Absent {
    fn never(&mut self) {}
}

#[test]
fn it_finds_the_crate_and_the_items_of_its_module() {
    let local = theatre::Local::new().unwrap();
    let prompter = stage::Prompter::new(local.spawn(stage::Actor));
    prompter
        .address()
        .send(stage::Cue::Say(Vec::new()))
        .unwrap();
    let said = prompter.said();
    local.run();
    assert_eq!(said.wait(), Ok(Vec::new()));
}
