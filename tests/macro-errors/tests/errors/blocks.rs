//! Blocks that cannot be actors.

trait Greet {
    fn greet(&mut self);
}

struct Greeter;

#[garrick::actor]
impl Greet for Greeter {
    fn greet(&mut self) {}
}

struct Borrowing<'a, T>(&'a T);

#[garrick::actor]
impl<'a, 'b: 'a, T> Borrowing<'a, T> {
    fn get(&self) {}
}

#[garrick::actor]
impl Borrowing<'_, u8> {
    fn get_byte(&self) {}
}

#[garrick::actor]
impl dyn Greet {
    fn twice(&mut self) {}
}

#[garrick::actor]
struct Structure;

#[garrick::actor]
fn function() {}

fn main() {
    function();
    let _ = (Structure, Greeter);
}
