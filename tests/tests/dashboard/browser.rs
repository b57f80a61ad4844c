//! A real browser with a fresh profile, driven from Rust code.
//!
//! ```text
//!   test --> Page --WebDriver--> chromedriver --> Chromium, headless --> the dashboard
//! ```
//!
//! No code here sleeps: the page itself checks each awaited condition, frame by frame.

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::prelude::*;
use thirtyfour::{ChromiumLikeCapabilities, LoggingPrefsLogLevel};
use tokio::runtime::{self, Runtime};

/// Time limit that keeps a test from hanging. No step takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of times that chromedriver is started at most.
const STARTS: u32 = 5;

/// Output of chromedriver once it listens, before the number of its port.
const LISTENS: &str = "started successfully on port ";

/// Path of axe-core, from the folder of the tests' own files in the target folder.
const AXE: &str = "../tools/node_modules/axe-core/axe.min.js";

/// Runs all rules of axe-core. Each text names a rule, what the rule demands, and the elements that
/// break it.
const RUN_AXE: &str = "
  const done = arguments[0];
  const told = (one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' ')}`;
  axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations.map(told)), (error) => done([`it failed: ${error}`]));";

/// Width and height of a window, and true if the system is dark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
}

impl Screen {
    pub(crate) const WIDE: Self = Self {
        width: 1440,
        height: 1000,
        dark: false,
    };
    pub(crate) const HUGE: Self = Self {
        width: 2560,
        height: 1440,
        dark: false,
    };
    pub(crate) const PHONE: Self = Self {
        width: 390,
        height: 844,
        dark: false,
    };

    pub(crate) fn dark(self) -> Self {
        Self { dark: true, ..self }
    }
}

/// Process of chromedriver, killed on drop.
struct Driver(RefCell<Child>);

impl Driver {
    /// Starts chromedriver at a port of its choice, and returns its address. It chooses a port for
    /// IPv4, and ends if another process has that port for IPv6: then it is started again.
    fn start() -> (Self, String) {
        for _ in 1..STARTS {
            if let Ok(started) = Self::try_start() {
                return started;
            }
        }
        Self::try_start().unwrap_or_else(|ended| panic!("chromedriver ended: {ended}"))
    }

    /// Starts chromedriver once. Returns its status if it has ended.
    fn try_start() -> Result<(Self, String), ExitStatus> {
        let child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("chromedriver: {error}; `cargo xtask tools` installs it and Chromium")
        });
        let output = child.stdout.take().expect("it is piped");
        let driver = Self(RefCell::new(child));
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let (_, port) = line.split_once(LISTENS)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        match port {
            Some(port) => Ok((driver, format!("http://127.0.0.1:{port}"))),
            None => Err(driver.0.borrow_mut().wait().expect("it is our child")),
        }
    }

    /// Returns a text that tells if the process runs.
    fn status(&self) -> String {
        match self.0.borrow_mut().try_wait() {
            Ok(None) => "while chromedriver runs".to_owned(),
            Ok(Some(status)) => format!("and chromedriver ended: {status}"),
            Err(error) => format!("and nothing is known of chromedriver: {error}"),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let child = self.0.get_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Page in a separate browser. The browser is closed on drop, whatever the result of the test.
pub(crate) struct Page {
    runtime: Runtime,
    /// Browser, taken in `drop` only.
    browser: Option<WebDriver>,
    /// Prefix of every allowed request.
    home: String,
    driver: Driver,
}

impl Page {
    /// Opens `address` in a new browser.
    pub(crate) fn open(address: &str, screen: Screen) -> Self {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (driver, server) = Driver::start();
        let browser = runtime
            .block_on(begin(&server))
            .unwrap_or_else(|error| panic!("Chromium does not start: {error}"));
        let home = address.split_inclusive('/').take(3).collect::<String>();
        let page = Self {
            runtime,
            browser: Some(browser),
            home,
            driver,
        };
        page.show_on(screen);
        page.go(address);
        page
    }

    fn browser(&self) -> &WebDriver {
        self.browser.as_ref().expect("it is there until dropped")
    }

    /// Changes the window. The page does without motion, because the browser has no graphics card
    /// here, so that each frame costs much processor time.
    pub(crate) fn show_on(&self, screen: Screen) {
        let metrics = json!({ "width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": screen.width < 600 });
        self.tool("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if screen.dark { "dark" } else { "light" };
        let media = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.tool("Emulation.setEmulatedMedia", media);
    }

    fn tool(&self, method: &str, parameters: Value) {
        let tools = self.browser().cdp();
        self.request(method, tools.send_raw(method, parameters));
    }

    /// Waits for the end of a request to the browser. Panics if the request fails.
    fn request<T>(&self, name: &str, request: impl Future<Output = WebDriverResult<T>>) -> T {
        let begin = Instant::now();
        let done = self.runtime.block_on(request);
        done.unwrap_or_else(|error| {
            let seconds = begin.elapsed().as_secs_f64();
            let driver = self.driver.status();
            panic!("{name}: failed after {seconds:.1} s, {driver}: {error}")
        })
    }

    /// Goes to `address`.
    pub(crate) fn go(&self, address: &str) {
        self.request(address, self.browser().goto(address));
    }

    /// Returns the value of a JavaScript expression.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        let value = self.request(expression, self.browser().execute(script, Vec::new()));
        value.json().clone()
    }

    /// Returns the value of a JavaScript expression that must be text.
    pub(crate) fn text(&self, expression: &str) -> String {
        match self.eval(expression) {
            Value::String(text) => text,
            other => panic!("{expression} is {other}"),
        }
    }

    /// Waits until a JavaScript expression is true.
    pub(crate) fn wait(&self, expression: &str) {
        let script = format!(
            "const done = arguments[0];
             const look = () => ({expression}) ? done(true) : requestAnimationFrame(look);
             look();"
        );
        let seen = self
            .runtime
            .block_on(self.browser().execute_async(script, Vec::new()));
        if let Err(error) = seen {
            let told = self.log("browser");
            let shown = self.text("document.body.innerText.slice(0, 4000)");
            panic!(
                "never came true: {expression}: {error}; the browser says {told:#?}; the page \
                 shows:\n{shown}"
            );
        }
    }

    /// Clicks the first element that matches `css`, where it is on the screen.
    pub(crate) fn click(&self, css: &str) {
        self.request(css, async {
            let element = self.browser().find(By::Css(css)).await?;
            element.scroll_into_view().await?;
            element.click().await
        });
    }

    /// Types keys into the focused element.
    pub(crate) fn keys(&self, keys: &str) {
        let chain = self.browser().action_chain().send_keys(keys);
        self.request(&format!("the keys {keys:?}"), chain.perform());
    }

    /// Presses one key that has no letter.
    pub(crate) fn key(&self, key: Key) {
        self.keys(&char::from(key).to_string());
    }

    /// Saves a screenshot in `target/screenshots`.
    pub(crate) fn keep(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
        std::fs::create_dir_all(&folder).expect("the target folder can be written to");
        let picture = self.request("a screenshot", self.browser().screenshot_as_png());
        std::fs::write(folder.join(format!("{name}.png")), picture).expect("it can be written");
    }

    /// Returns what axe-core finds wrong with the page, or `None` if axe-core is missing and
    /// optional, as CONTRIBUTING describes.
    pub(crate) fn violations(&self) -> Option<Vec<String>> {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(AXE);
        let Ok(axe) = std::fs::read_to_string(&path) else {
            assert!(
                std::env::var_os("GARRICK_TOOLS").is_none(),
                "{} is missing: run `cargo xtask tools`",
                path.display()
            );
            eprintln!("passed over: axe-core is missing; `cargo xtask tools` installs it");
            return None;
        };
        if self.eval("window.axe === undefined") == json!(true) {
            self.request("axe-core", self.browser().execute(axe, Vec::new()));
        }
        let found = self.browser().execute_async(RUN_AXE, Vec::new());
        let found = self.request("axe-core", found);
        Some(found.convert().expect("a list of texts"))
    }

    /// Asserts that the browser has logged no complaint, and that all requests went to the page's
    /// own server.
    pub(crate) fn is_clean(&self) {
        let asked = self.requests_are_clean();
        assert!(asked >= 10, "only {asked} requests were seen");
    }

    /// Asserts that the browser has logged no complaint, and that the page has requested only
    /// itself.
    pub(crate) fn is_clean_and_alone(&self) {
        assert_eq!(self.requests_are_clean(), 1, "only itself is asked for");
    }

    /// Returns the number of requests, and asserts that all of them went to the page's own server.
    fn requests_are_clean(&self) -> usize {
        let complaints = self.log("browser");
        assert!(complaints.is_empty(), "{complaints:#?}");
        let mut asked = 0;
        for message in self.log("performance") {
            let message: Value = serde_json::from_str(&message).expect("events are JSON");
            let message = &message["message"];
            if message["method"] != "Network.requestWillBeSent" {
                continue;
            }
            let address = message["params"]["request"]["url"].as_str();
            let address = address.expect("a request has an address");
            // The page itself contains such data.
            if address.starts_with("data:") {
                continue;
            }
            assert!(address.starts_with(&self.home), "asked for {address}");
            asked += 1;
        }
        asked
    }

    fn log(&self, kind: &str) -> Vec<String> {
        let entries = self.request("the log", self.browser().get_log(kind));
        let told = |level: &str| level == "SEVERE" || level == "WARNING" || kind == "performance";
        let entries = entries.into_iter().filter(|entry| told(&entry.level));
        entries.map(|entry| entry.message).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(browser) = self.browser.take() {
            // A browser that has gone is closed already.
            let _ = self.runtime.block_on(browser.quit());
        }
    }
}

async fn begin(server: &str) -> WebDriverResult<WebDriver> {
    let mut wanted = DesiredCapabilities::chrome();
    wanted.add_arg("--headless=new")?;
    // Chromium refuses to run as root with its sandbox, and containers run as root.
    wanted.add_arg("--no-sandbox")?;
    // Shared memory is small in containers, too.
    wanted.add_arg("--disable-dev-shm-usage")?;
    wanted.add_arg("--disable-gpu")?;
    wanted.add_arg("--disable-background-networking")?;
    wanted.set_logging_prefs("browser", LoggingPrefsLogLevel::All)?;
    wanted.set_logging_prefs("performance", LoggingPrefsLogLevel::All)?;
    let browser = WebDriver::new(server, wanted).await?;
    browser.set_script_timeout(PATIENCE).await?;
    browser.set_page_load_timeout(PATIENCE).await?;
    Ok(browser)
}
