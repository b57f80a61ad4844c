//! A shop whose actor for payments fails at each message. Its supervisor restarts it again and
//! again, each time after a longer delay.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use garrick::mailbox::{Mailbox, OnFull};
use garrick::supervise::{Backoff, Strategy, Supervisor};
use garrick::telemetry::{Snapshot, Telemetry};
use garrick::{Actor, Address, Context, SendError, System};

use super::program::{Clients, Program};
use super::seen;

/// Time between two purchases.
const PERIOD: Duration = Duration::from_millis(50);

/// Minimum and maximum delay before a restart.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];

/// Maximum number of purchases that wait for the payment. Further purchases are dropped.
const PURCHASES_MAX: usize = 100;

/// A purchase, with its price in cents.
#[derive(Debug, Clone, Copy)]
struct Purchase(u64);

/// Error of a payment: the certificate of the bank has expired.
#[derive(Debug)]
struct Expired;

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate of bank.example has expired")
    }
}

impl Error for Expired {}

/// An actor that asks the bank for money, and fails because the certificate of the bank has
/// expired.
#[derive(Default)]
struct Payment {
    cents: u64,
    certificate_is_valid: bool,
}

impl Actor for Payment {
    type Msg = Purchase;
    type Outcome = Result<(), Expired>;

    fn receive(&mut self, purchase: Purchase, _: &mut Context<'_, Purchase>) -> Self::Outcome {
        if !self.certificate_is_valid {
            return Err(Expired);
        }
        self.cents += purchase.0;
        Ok(())
    }
}

/// An actor that counts purchases, and sends each purchase to the payment actor.
struct Cart {
    purchases: u64,
    payment: Address<Purchase>,
}

impl Actor for Cart {
    type Msg = Purchase;
    type Outcome = Result<(), SendError<Purchase>>;

    fn receive(&mut self, purchase: Purchase, cx: &mut Context<'_, Purchase>) -> Self::Outcome {
        self.purchases += 1;
        cx.send(&self.payment, purchase)
    }
}

pub(super) fn start(telemetry: &Telemetry) -> Result<Program, Box<dyn Error>> {
    let system = System::builder().name("shop").workers(2).probes(true);
    let system = system.start()?;
    telemetry.watch(system.handle());
    let tree = Supervisor::new("shop", Strategy::OneForOne)
        .intensity(1_000, Duration::from_secs(60))
        .spawn(&system.handle())?;
    let payment = system.actor(Payment::default).named("payment");
    let payment = payment
        .mailbox(Mailbox::bounded(PURCHASES_MAX, OnFull::DropNewest)?)
        .supervised_by(&tree)
        .backoff(Backoff::exponential(BACKOFF[0], BACKOFF[1]))
        .spawn()?;
    let cart = move || Cart {
        purchases: 0,
        payment: payment.clone(),
    };
    let cart = system.actor(cart).named("cart").supervised_by(&tree);
    let cart = cart.spawn()?;
    let clients = Clients::every(PERIOD, move |_| {
        // After the end of the system, nobody sells anything.
        let _ = cart.send(Purchase(499));
    });
    Ok(Program::of((clients, system, tree)))
}

pub(super) fn found(seen: &Snapshot) -> Option<String> {
    let failure = seen.recent_failures.first()?;
    let node = seen::node(seen, &failure.name)?;
    let alert = seen::alert(seen, node, "restarts_of_one")?;
    let path = failure.path.as_deref()?;
    Some(format!("{alert} {path} failed last: {}.", failure.reason))
}
