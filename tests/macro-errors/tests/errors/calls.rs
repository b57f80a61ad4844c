//! A method that is rejected causes no further errors where it is called.

use garrick::prelude::*;

struct Shop;

#[garrick::actor]
impl Shop {
    fn name(&self) -> &str {
        "shop"
    }
    fn find(&self, name: &str) -> Option<u32> {
        name.parse().ok()
    }
    async fn price(&self, item: u32) -> u32 {
        item
    }
    fn put<T: Into<String>>(&mut self, _: T) {}
    fn close(self) {}
    fn sell(&mut self, item: u32, reply: Reply<&str>) {
        reply.send(if item == 0 { "none" } else { "one" });
    }
    fn with(&mut self, convert: impl Fn(u32) -> u32) -> u32 {
        convert(1)
    }
}

struct Clerk {
    shop: ShopHandle,
}

#[garrick::actor]
impl Clerk {
    fn work(&mut self, cx: &mut Context<'_, ClerkMsg>) {
        self.shop
            .price_to(1, cx, |price| ClerkMsg::Told(price.unwrap_or(0)));
    }
    fn told(&mut self, _: u32) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let local = Local::new()?;
    let shop = ShopHandle::new(local.spawn(Shop));
    let clerk = ClerkHandle::new(local.spawn(Clerk { shop: shop.clone() }));
    clerk.work()?;
    println!("{}", shop.name().wait()?.len());
    println!("{:?}", shop.find("1").wait()?);
    println!("{}", shop.price(2).wait()?);
    println!("{}", shop.with(|n| n + 1).wait()?);
    println!("{}", shop.sell(1).wait()?);
    shop.put("bread")?;
    shop.close()?;
    Ok(())
}
