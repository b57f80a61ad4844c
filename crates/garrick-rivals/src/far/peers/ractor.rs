//! Actors on two nodes of `ractor_cluster`, which connect by TCP.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call, pg};
use ractor_cluster::node::NodeConnectionMode;
use ractor_cluster::{NodeServer, NodeServerMessage, RactorClusterMessage, client_connect};
use tokio::runtime::{Builder, Runtime};

use crate::far::child::{is_ready, wait_for_end};
use crate::far::near::{Count, Near, Place, Tally, answer_to, check, content_of, numbers, serve};
use crate::far::order::Fault;

/// The process group with the receiver, by which the other node finds it.
const GROUP: &str = "receivers";

/// Maximum time until the receiver is known to the sending node.
const FOUND_WITHIN: Duration = Duration::from_secs(30);

/// Time between two looks for the receiver.
const AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Number of messages that the sender sends before it lets other tasks run.
const BATCH: u64 = 256;

#[derive(RactorClusterMessage)]
enum Msg {
    Tell(Vec<u8>),
    #[rpc]
    Ask(Vec<u8>, RpcReplyPort<u64>),
    #[rpc]
    Tally(RpcReplyPort<Vec<u8>>),
}

/// Counts messages, and answers questions.
struct Receiver;

impl Actor for Receiver {
    type Msg = Msg;
    type State = Count;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Msg>, (): ()) -> Result<Count, ActorProcessingErr> {
        pg::join(GROUP.to_owned(), vec![myself.get_cell()]);
        Ok(Count::new())
    }

    async fn handle(
        &self,
        _: ActorRef<Msg>,
        msg: Msg,
        count: &mut Count,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            Msg::Tell(content) => count.add_bytes(&content),
            Msg::Ask(content, port) => {
                let [first, second] = numbers(&content).ok_or("a question that is too short")?;
                port.send(answer_to(first, second))?;
            }
            Msg::Tally(port) => port.send(count.tally().to_bytes().to_vec())?,
        }
        Ok(())
    }
}

fn runtime() -> Result<Runtime, Fault> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// Starts a node that listens on `port`, and returns its actor.
async fn node(name: &str, port: u16) -> Result<ActorRef<NodeServerMessage>, Fault> {
    let server = NodeServer::new(
        port,
        "rivals".to_owned(),
        name.to_owned(),
        "localhost".to_owned(),
        None,
        Some(NodeConnectionMode::Isolated),
    );
    let server = server.with_listen_addr([127, 0, 0, 1].into());
    let (node, _) = Actor::spawn(None, server, ()).await?;
    Ok(node)
}

/// Runs the receiving process.
pub(in crate::far) fn far(_: &Place) -> Result<(), Fault> {
    let runtime = runtime()?;
    // A node does not tell which free port it has chosen, so the port is chosen before.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    runtime.block_on(async {
        node("far", address.port()).await?;
        Actor::spawn(None, Receiver, ()).await?;
        Ok::<_, Fault>(is_ready(&address.to_string())?)
    })?;
    wait_for_end();
    Ok(())
}

/// Runs the sending process.
pub(in crate::far) fn near(place: &Place) -> Result<(), Fault> {
    let runtime = runtime()?;
    let to = runtime.block_on(async {
        let node = node("near", 0).await?;
        client_connect(&node, place.far.as_str()).await?;
        let began = Instant::now();
        while began.elapsed() < FOUND_WITHIN {
            if let Some(cell) = pg::get_members(&GROUP.to_owned()).into_iter().next() {
                return Ok(cell.into());
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        Err(Fault::from("the receiver was not found"))
    })?;
    serve(Here { runtime, to })
}

struct Here {
    runtime: Runtime,
    to: ActorRef<Msg>,
}

impl Near for Here {
    fn tell(&mut self, bytes: usize, count: u64) -> Result<Option<Duration>, Fault> {
        let to = self.to.clone();
        let sent = self.runtime.spawn(async move {
            for number in 0..count {
                let mut content = vec![7; bytes];
                content[..16].copy_from_slice(&content_of(number, number + 1));
                to.cast(Msg::Tell(content))
                    .map_err(|error| error.to_string())?;
                if number % BATCH == 0 {
                    tokio::task::yield_now().await;
                }
            }
            Ok::<_, String>(())
        });
        self.runtime.block_on(sent)??;
        Ok(None)
    }

    fn ask(&mut self, in_flight: usize, count: u64) -> Result<Vec<Duration>, Fault> {
        let to = self.to.clone();
        let ask = move |number: u64| {
            let to = to.clone();
            async move {
                let began = Instant::now();
                let question = content_of(number, number + 1).to_vec();
                let answer = call!(to, Msg::Ask, question)?;
                check(number, answer)?;
                Ok::<_, Fault>(began.elapsed())
            }
        };
        // On a worker of the runtime, as the actors of users.
        let asked = self.runtime.spawn(async move {
            let mut numbers = 0..count;
            let mut under_way: FuturesUnordered<_> =
                numbers.by_ref().take(in_flight).map(&ask).collect();
            let mut times = Vec::new();
            while let Some(time) = under_way.next().await {
                times.push(time?);
                under_way.extend(numbers.next().map(&ask));
            }
            Ok(times)
        });
        self.runtime.block_on(asked)?
    }

    fn tally(&mut self) -> Result<Tally, Fault> {
        let to = self.to.clone();
        let tally = self
            .runtime
            .block_on(async move { call!(to, Msg::Tally) })?;
        Tally::from_bytes(&tally)
    }
}
