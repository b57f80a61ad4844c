//! Addresses and replies in messages.

use garrick_actor::{Address, Reply};
use garrick_wire::{Decoder, Encoder, Shape, Wire, WireError};

use crate::export::exported;
use crate::far::{far_address, far_reply};
use crate::frame::Ref;
use crate::line::{Carrier, Passed, Travels};
use crate::question::question;

/// Reason why a value cannot be encoded.
const WRONG_SIDE: &str = "this carrier is for messages from another node";

impl<M: Travels> Wire<Carrier> for Address<M> {
    const NAME: &'static str = "garrick.Address";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Carrier>) -> Result<(), WireError> {
        let Some((line, packed)) = out.context().packs() else {
            return Err(out.refused(WRONG_SIDE));
        };
        let index = packed.addresses.len() as u64;
        let home = line.home_of(self.id());
        let exported = exported(self);
        packed.addresses.push(Passed { exported, home });
        out.varint(index)
    }

    fn decode(input: &mut Decoder<'_, Carrier>) -> Result<Self, WireError> {
        let index = input.varint()?;
        match input.context().unpacks_address(index) {
            Some((line, Ref::Senders(slot))) => Ok(far_address(line, slot)),
            Some((line, Ref::Receivers(slot))) => {
                let exported = line.exported(slot);
                let address = exported.as_ref().map(|exported| exported.address());
                let address: Option<&Self> = address.and_then(|address| address.downcast_ref());
                (address.cloned()).ok_or_else(|| input.refused("the address has another type"))
            }
            None => Err(input.refused("the message has fewer addresses")),
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
