//! Three NATS servers that form a cluster, and can be killed and started again.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process;

use garrick_measure::Result;

use super::engine::Engine;

pub(super) const SERVERS: usize = 3;

/// Three servers. Their files are removed when this value is dropped.
pub(super) struct Trio {
    program: PathBuf,
    folder: PathBuf,
    /// The running process of each server. `None` while the server is down.
    engines: [Option<Engine>; SERVERS],
}

impl Trio {
    /// Starts three servers on free ports of this machine.
    pub(super) fn start(program: &Path) -> Result<Self> {
        let folder = env::temp_dir().join(format!("garrick-cluster-soak-{}", process::id()));
        let mut trio = Self {
            program: program.to_owned(),
            folder,
            engines: [const { None }; SERVERS],
        };
        let ports = free_ports::<{ 2 * SERVERS }>()?;
        let (clients, routes) = ports.split_at(SERVERS);
        for (number, client) in clients.iter().enumerate() {
            let folder = trio.folder.join(number.to_string());
            fs::create_dir_all(&folder)?;
            let text = config(number, *client, routes, &folder.join("store"));
            fs::write(trio.config(number), text)?;
            trio.start_again(number)?;
        }
        Ok(trio)
    }

    /// Returns the addresses of all servers, separated by commas.
    pub(super) fn addresses(&self) -> String {
        let engines = self.engines.iter().flatten();
        let addresses: Vec<&str> = engines.map(|engine| engine.address.as_str()).collect();
        addresses.join(",")
    }

    /// Kills the server with the index `number`. Does nothing if the server is down.
    pub(super) fn kill(&mut self, number: usize) -> Result<()> {
        match self.engines[number].take() {
            Some(engine) => engine.kill(),
            None => Ok(()),
        }
    }

    /// Starts a killed server again, with its old files and ports.
    pub(super) fn start_again(&mut self, number: usize) -> Result<()> {
        let config = self.config(number);
        self.engines[number] = Some(Engine::start_with(&self.program, Some(&config))?);
        Ok(())
    }

    fn config(&self, number: usize) -> PathBuf {
        self.folder.join(number.to_string()).join("server.conf")
    }
}

impl Drop for Trio {
    fn drop(&mut self) {
        // They end before their files are removed.
        self.engines = [const { None }; SERVERS];
        // The folder is in one for temporary files, so it may stay.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the settings of a server. `routes` contains the ports at which the servers reach each
/// other.
fn config(number: usize, client: u16, routes: &[u16], store: &Path) -> String {
    let addresses = routes.iter().map(|port| format!("nats://127.0.0.1:{port}"));
    let addresses = addresses.collect::<Vec<_>>().join(", ");
    let own = routes[number];
    format!(
        "server_name: \"server-{number}\"\n\
         listen: \"127.0.0.1:{client}\"\n\
         jetstream {{ store_dir: {store:?} }}\n\
         cluster {{ name: \"soak\", listen: \"127.0.0.1:{own}\", routes: [ {addresses} ] }}\n"
    )
}

/// Returns ports that are currently free.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        // It stays open, so that the next one has another port.
        listeners.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{config, free_ports};

    #[test]
    fn the_servers_differ_in_names_and_ports() {
        let first = config(0, 1, &[4, 5, 6], Path::new("/store"));
        let last = config(2, 3, &[4, 5, 6], Path::new("/store"));
        assert!(first.contains("\"server-0\"") && last.contains("\"server-2\""));
        assert!(first.contains("listen: \"127.0.0.1:4\"") && last.contains(":6\", routes"));
        let mut ports = free_ports::<6>().unwrap();
        ports.sort_unstable();
        assert!(ports.windows(2).all(|two| two[0] < two[1]), "{ports:?}");
    }
}
