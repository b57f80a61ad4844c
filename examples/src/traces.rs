//! A shop whose orders are traces of OpenTelemetry, and a small collector that receives the traces.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use async_trait::async_trait;
use bytes::Bytes;
use garrick::{Actor, Address, Context, Reply, System};
use http::{Request, Response};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter};
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::Value;
use tracing::info_span;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;

/// Sends spans to the collector by plain HTTP.
#[derive(Debug)]
struct Post(ureq::Agent);

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        // The exporter has a thread of its own, which may block.
        let (parts, body) = request.into_parts();
        let mut answer = self.0.run(Request::from_parts(parts, body.to_vec()))?;
        let body = answer.body_mut().read_to_vec()?;
        Ok(Response::builder()
            .status(answer.status())
            .body(body.into())?)
    }
}

/// Sends the spans of all actors' turns, and the spans of this crate, to a collector. At the end,
/// call [`SdkTracerProvider::shutdown`] on the returned provider, so that no span is lost.
///
/// # Errors
/// Returns an error if the exporter cannot be created.
///
/// # Panics
/// Panics if the process already has a subscriber of `tracing`.
pub fn send_spans_to(collector: SocketAddr) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Post(ureq::Agent::new_with_defaults()))
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(format!("http://{collector}/v1/traces"))
        .build()?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .build();
    // The spans of turns have the level TRACE.
    let spans = Targets::new()
        .with_target("garrick_actor", LevelFilter::TRACE)
        .with_target("garrick_examples", LevelFilter::INFO);
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(spans));
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    garrick::trace::continue_from_threads();
    Ok(provider)
}

/// An order: the number of pieces, and the reply for their price.
type Order = (u64, Reply<u64>);

/// An actor that takes orders, and passes them on to the stock.
struct Shop {
    stock: Address<Order>,
}

/// An actor that takes the ordered pieces out of the stock.
struct Stock {
    left: u64,
    till: Address<Order>,
}

/// An actor that computes prices.
struct Till;

impl Actor for Shop {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        // If the stock has stopped, the customer gets no answer.
        let _ = cx.send(&self.stock, order);
    }
}

impl Actor for Stock {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, order: Order, cx: &mut Context<'_, Order>) {
        if self.left >= order.0 {
            self.left -= order.0;
            let _ = cx.send(&self.till, order);
        }
    }
}

impl Actor for Till {
    type Msg = Order;
    type Outcome = ();

    fn receive(&mut self, (pieces, reply): Order, _: &mut Context<'_, Order>) {
        reply.send(pieces * 250);
    }
}

/// Orders some pieces in a shop of three actors, within one span. Returns their price.
///
/// # Errors
/// Returns an error if the system cannot start or the order is not answered.
pub fn order(pieces: u64) -> Result<u64, Box<dyn std::error::Error>> {
    let system = System::new()?;
    let till = system.spawn(Till)?;
    let stock = system.spawn(Stock { left: 1000, till })?;
    let shop = system.spawn(Shop { stock })?;
    let price = info_span!("checkout").in_scope(|| shop.ask(|reply| (pieces, reply)).wait())?;
    system.shutdown();
    Ok(price)
}

/// A span that a [`Collector`] has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Name of the span.
    pub name: String,
    /// Id of the trace.
    pub trace: String,
    /// Id of the span.
    pub id: String,
    /// Id of the parent span. Empty for the first span of a trace.
    pub parent: String,
}

/// A small collector, which receives spans by OTLP until the process ends.
#[derive(Debug)]
pub struct Collector {
    /// Address of the collector.
    pub address: SocketAddr,
    spans: Receiver<Span>,
}

impl Collector {
    /// Starts a collector on this machine.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (told, spans) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let told = told.clone();
                thread::spawn(move || serve(stream, &told));
            }
        });
        Ok(Self { address, spans })
    }

    /// Returns the spans that were received since the last call.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.try_iter().collect()
    }
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, told: &Sender<Span>) -> io::Result<()> {
    let mut answers = stream.try_clone()?;
    let mut requests = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if requests.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bytes) = line.strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        requests.read_exact(&mut body)?;
        let request = serde_json::from_slice(&body).unwrap_or_default();
        // The program has dropped the collector if this fails.
        spans_of(&request).for_each(|span| drop(told.send(span)));
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        answers.write_all(answer.as_bytes())?;
    }
}

/// Returns the spans of a request.
fn spans_of(request: &Value) -> impl Iterator<Item = Span> {
    fn items<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
        of[name].as_array().into_iter().flatten()
    }
    let scopes = items(request, "resourceSpans").flat_map(|of| items(of, "scopeSpans"));
    scopes.flat_map(|of| items(of, "spans")).map(|span| {
        let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
        Span {
            name: text("name"),
            trace: text("traceId"),
            id: text("spanId"),
            parent: text("parentSpanId"),
        }
    })
}
