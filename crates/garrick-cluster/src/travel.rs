//! Encoding and decoding of the addresses and replies in messages.

use garrick_actor::{Address, Reply};
use garrick_wire::{Decoder, Encoder, Shape, Wire, WireError};

use crate::directory::Instance;
use crate::entities::Entities;
use crate::export::exported;
use crate::far::{far_address, far_reply};
use crate::line::{Carrier, Line, OwnRef, Passed, Travels};
use crate::name::{NodeName, check_service};
use crate::named::{Named, Origin};
use crate::node::Node;
use crate::question::question;

/// Reason why a value cannot be encoded.
const WRONG_SIDE: &str = "this carrier is for messages from another node";

/// Reason why an address cannot be decoded.
const WRONG_TYPE: &str = "the address has another type";

/// Returns the name of an address if messages in this session contain this name instead of the
/// address. Otherwise returns `None`.
fn named<M: Travels>(address: &Address<M>, line: &dyn Line) -> Option<Named> {
    let origin = address.origin()?;
    let origin: &Origin = origin.downcast_ref()?;
    (origin.cluster == line.cluster()).then(|| origin.named.clone())
}

/// Returns the address of the receiver with the given name.
///
/// # Errors
/// Returns the reason if this node cannot find the receiver.
fn find<M: Travels>(named: Named, line: &dyn Line) -> Result<Address<M>, String> {
    let node = Node::of(line).ok_or("this node has left")?;
    match named {
        Named::Entity { kind, key } => {
            let why = |why: String| format!("the address of the entity {kind}/{key}: {why}");
            let entities = Entities::of(&node).ok_or_else(|| {
                why("this node does not use entities: call `Entities::start` first".into())
            })?;
            let found = entities.find(&kind, &key);
            found.map_err(|error| why(error.to_string()))
        }
        Named::Service { node: of, name } => {
            check_service(&name).map_err(|error| error.to_string())?;
            let of = NodeName::new(&of).map_err(|error| error.to_string())?;
            let is_served = of == *node.name() && Instance::number_of(&name).is_some();
            // The actor itself, whose address is equal to this one.
            let served = is_served.then(|| node.offered(&name)).flatten();
            Ok(served.unwrap_or_else(|| node.service_of(of, name)))
        }
    }
}

impl<M: Travels> Wire<Carrier> for Address<M> {
    const NAME: &'static str = "garrick.Address";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        let Some((line, packed)) = out.context().packs() else {
            return Err(out.refused(WRONG_SIDE));
        };
        let index = packed.addresses.len() as u64;
        let passed = match named(&self, &**line) {
            Some(named) => Passed::Named(named),
            None => {
                let id = self.id();
                Passed::Exported {
                    home: line.home_of(id),
                    key: (id, <M as Wire<Carrier>>::ID),
                    exported: exported(self),
                }
            }
        };
        packed.addresses.push(passed);
        out.varint(index)
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        let index = input.varint()?;
        match input.context().unpacks_address(index) {
            Some((line, OwnRef::Senders(slot))) => Ok(far_address(line, slot)),
            Some((line, OwnRef::Receivers(slot))) => {
                let exported = line.exported(slot);
                let address = exported.as_ref().map(|exported| exported.address());
                let address: Option<&Self> = address.and_then(|address| address.downcast_ref());
                address.cloned().ok_or_else(|| input.refused(WRONG_TYPE))
            }
            Some((line, OwnRef::Named(named))) => {
                let found = find(named, &**line);
                found.map_err(|why| input.refused(why))
            }
            None => Err(input.refused("the message has no such address, or it was decoded before")),
        }
    }
}

impl<R: Travels> Wire<Carrier> for Reply<R> {
    const NAME: &'static str = "garrick.Reply";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        let Some((_, packed)) = out.context().packs() else {
            return Err(out.refused(WRONG_SIDE));
        };
        let index = packed.questions.len() as u64;
        packed.questions.push(question(self));
        out.varint(index)
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        let index = input.varint()?;
        match input.context().unpacks_question(index) {
            Some((line, number)) => Ok(far_reply(line, number)),
            None => Err(input.refused("the message has fewer replies")),
        }
    }
}
