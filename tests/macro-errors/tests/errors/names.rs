//! Colliding names, and missing names.

struct Names;

#[garrick::actor]
impl Names {
    fn get_all(&mut self) {}
    fn get__all(&mut self) {}

    fn find(&self) -> u8 {
        0
    }
    fn find_to(&mut self) {}

    fn r#type(&mut self) {}
    fn type_(&mut self) {}

    fn self_(&mut self) {}
    fn __(&mut self) {}

    fn address(&self) -> u8 {
        0
    }
    fn new(&mut self) {}

    #[cfg(all())]
    fn chosen(&mut self) {}
    #[cfg(any())]
    fn chosen(&mut self) {}
}

fn main() {}
