//! A scripted visit: three clients in a room. The session of one of them fails.

use std::error::Error;
use std::io;
use std::thread;

use garrick_examples::sessions::actors::Server;
use garrick_examples::sessions::client::{Client, Heard};
use garrick_examples::sessions::plain::runtime;

/// Starts a server, runs the visit, and shuts the server down gracefully.
pub(crate) fn visit() -> Result<(), Box<dyn Error>> {
    let server = Server::start(([127, 0, 0, 1], 0).into(), 1)?;
    let visitors = runtime(1)?;
    let mut ada = visitors.block_on(talk(&server))?;
    // Close on another thread, because the server waits until Ada has answered.
    let closing = thread::spawn(|| server.close());
    let last = visitors.block_on(ada.hear());
    println!("ada hears: {last}");
    assert!(matches!(last, Heard::Closed(1001, _)), "no goodbye");
    if closing.join().is_err() {
        return Err("the server has failed to end".into());
    }
    Ok(())
}

/// Runs the conversation until only Ada is left, and returns Ada's client.
async fn talk(server: &Server) -> io::Result<Client> {
    let at = server.address();
    match Client::enter(at, "garden", "no%20name").await {
        Err(error) => println!("the name is rejected: {error}"),
        Ok(_) => return Err(io::Error::other("an invalid name was accepted")),
    }
    let mut ada = Client::enter(at, "garden", "ada").await?;
    hear(&mut ada, "ada", 1).await;
    let mut bob = Client::enter(at, "garden", "bob").await?;
    let mut eve = Client::enter(at, "garden", "eve").await?;
    hear(&mut ada, "ada", 2).await;
    bob.say("good morning").await?;
    hear(&mut ada, "ada", 1).await;
    // Eve's session fails. The other sessions continue.
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
