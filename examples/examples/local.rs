//! Actors that are not `Send`, on the thread that has created them.

use std::cell::RefCell;
use std::rc::Rc;

use garrick::prelude::*;

/// An actor that writes into a page that it shares with `main`.
struct Scribe {
    page: Rc<RefCell<String>>,
}

impl Actor for Scribe {
    type Msg = &'static str;
    type Outcome = ();

    fn receive(&mut self, word: &'static str, _: &mut Context<'_, Self::Msg>) {
        let mut page = self.page.borrow_mut();
        page.push_str(word);
        page.push(' ');
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = Rc::new(RefCell::new(String::new()));
    let local = Local::new()?;
    let scribe = local.spawn(Scribe { page: page.clone() });
    for word in ["All", "the", "world's", "a", "stage."] {
        scribe.send(word)?;
    }
    // No actor runs until this thread calls `run`.
    assert!(page.borrow().is_empty());
    local.run();
    println!("{}", page.borrow());
    assert_eq!(page.borrow().trim_end(), "All the world's a stage.");
    Ok(())
}
