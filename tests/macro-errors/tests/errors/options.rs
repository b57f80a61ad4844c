//! Options and marks that do not exist.

struct Plain;

#[garrick::actor(color = "red")]
impl Plain {
    fn get(&self) {}
}

struct Twice;

#[garrick::actor(name = "a", handle = One, name = "b")]
impl Twice {
    fn get(&self) {}
}

struct Marks;

#[garrick::actor]
impl Marks {
    #[actor(stopped)]
    fn stopped(&mut self) {}

    #[actor]
    fn bare(&mut self) {}

    #[actor(skip)]
    #[actor(started)]
    fn both(&mut self) {}

    #[cfg_attr(all(), actor(skip))]
    fn perhaps(&mut self) {}

    #[actor(skip)]
    const CONSTANT: u8 = 0;
}

fn main() {
    let _ = Marks::CONSTANT;
}
