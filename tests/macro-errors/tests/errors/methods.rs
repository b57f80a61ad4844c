//! Every method that cannot be a message is reported, and the others are messages all the same.

use std::borrow::Cow;
use std::fmt::Display;

use garrick::prelude::*;

struct Shop;

#[garrick::actor]
impl Shop {
    async fn later(&mut self) {}
    const fn constant(&self) -> u8 {
        0
    }
    unsafe fn dangerous(&self) {}
    extern "C" fn foreign(&self) {}

    fn consumed(self) {}
    fn boxed(self: Box<Self>) {}

    fn generic<T: Send>(&mut self, _: T) {}
    fn sized<const N: usize>(&mut self, _: [u8; N]) {}
    fn lifetimes<'a>(&'a mut self) {}
    fn bounded(&mut self)
    where
        u8: Copy,
    {
    }

    fn borrowed(&mut self, _: &str, _: Vec<&[u8]>, _: Cow<'_, str>) {}
    fn unnamed(&mut self, _: impl Display, _: Option<Box<impl Display>>) {}
    fn lent(&self) -> &str {
        ""
    }
    fn hidden(&self) -> impl Display + use<> {
        0
    }

    fn twice(&mut self, _: Reply<u8>, _: Reply<u8>) {}
    fn both(&mut self, _: Reply<u8>) -> u8 {
        0
    }
    fn contexts(&mut self, _: &Context<'_, ShopMsg>, _: &mut Context<'_, ShopMsg>) {}
    fn conditional(&mut self, #[cfg(all())] _: u8) {}

    fn good(&mut self, _: &'static str, _: fn(&str) -> &str, _: Box<dyn Fn(&str) + Send>) {}
}

fn main() {
    let local = Local::new().unwrap();
    let shop = ShopHandle::new(local.spawn(Shop));
    shop.good("", |word| word, Box::new(|_| ())).unwrap();
}
