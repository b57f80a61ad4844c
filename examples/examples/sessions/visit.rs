//! Scripted visit: three clients in a room, one of which has its session fail.

use std::error::Error;
use std::io;
use std::thread;

use garrick_examples::sessions::actors::Server;
use garrick_examples::sessions::client::{Client, Heard};
use garrick_examples::sessions::plain::runtime;

/// Starts a server, runs the visit, and ends the server in order.
pub(crate) fn visit() -> Result<(), Box<dyn Error>> {
    let server = Server::start(([127, 0, 0, 1], 0).into(), 1)?;
    let visitors = runtime(1)?;
    let mut ada = visitors.block_on(talk(&server))?;
    // Ada has to answer before the server is closed.
    let closing = thread::spawn(|| server.close());
    let last = visitors.block_on(ada.hear());
    println!("ada hears: {last}");
    assert!(matches!(last, Heard::Closed(1001, _)), "no goodbye");
    if closing.join().is_err() {
        return Err("the end has failed".into());
    }
    Ok(())
}

/// Runs the conversation before the end, and returns Ada, who stays.
async fn talk(server: &Server) -> io::Result<Client> {
    let at = server.address();
    match Client::enter(at, "garden", "no%20name").await {
        Err(error) => println!("nobody gets in as that: {error}"),
        Ok(_) => return Err(io::Error::other("a bad name was taken")),
    }
    let mut ada = Client::enter(at, "garden", "ada").await?;
    hear(&mut ada, "ada", 1).await;
    let mut bob = Client::enter(at, "garden", "bob").await?;
    let mut eve = Client::enter(at, "garden", "eve").await?;
    hear(&mut ada, "ada", 2).await;
    bob.say("good morning").await?;
    hear(&mut ada, "ada", 1).await;
    // Eve's session fails, and no other session.
    eve.say("/panic").await?;
    bob.await_line("* eve has left: failed: its client asked for a panic")
        .await?;
    hear(&mut ada, "ada", 1).await;
    bob.say("/quit").await?;
    hear(&mut bob, "bob", 1).await;
    hear(&mut ada, "ada", 1).await;
    Ok(ada)
}

/// Prints the next lines that a client receives.
async fn hear(client: &mut Client, name: &str, lines: usize) {
    for _ in 0..lines {
        println!("{name} hears: {}", client.hear().await);
    }
}
