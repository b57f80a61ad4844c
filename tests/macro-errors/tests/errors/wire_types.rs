//! Fields whose types do not travel, or not without a context.

use garrick::wire::{Decoder, Encoder, Shape, Wire, WireError};

struct Plain;

#[derive(Wire)]
struct Holder {
    plain: Plain,
}

struct Link;

struct Door;

impl Wire<Link> for Door {
    const NAME: &'static str = "door";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
        out.varint(1)
    }

    fn decode(input: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
        input.varint().map(|_| Self)
    }
}

#[derive(Wire)]
struct WithoutContext {
    door: Vec<Door>,
}

#[derive(Wire)]
#[wire(context = Link)]
struct WithContext {
    door: Vec<Door>,
}

fn main() {
    let _ = garrick::wire::to_vec(WithContext { door: Vec::new() });
}
