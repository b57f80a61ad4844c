//! Flags for connections to NATS servers.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use garrick_cluster::nats::{NatsBuilder, NatsNet};

/// Default server of all commands.
const HERE: &str = "nats://localhost";

/// Flags of a connection to NATS servers. Secrets in environment variables do not appear in the
/// list of processes.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Servers {
    /// Addresses of the NATS servers, separated by commas.
    #[arg(long, value_name = "URL", env = "GARRICK_NATS", hide_env_values = true)]
    nats: Option<String>,

    /// File with credentials, as `nsc` writes it.
    #[arg(long, value_name = "FILE", env = "GARRICK_NATS_CREDENTIALS")]
    credentials: Option<PathBuf>,

    /// Name of the user.
    #[arg(
        long,
        value_name = "NAME",
        env = "GARRICK_NATS_USER",
        requires = "password",
        conflicts_with = "credentials"
    )]
    user: Option<String>,

    /// Password of the user.
    #[arg(
        long,
        value_name = "PASSWORD",
        env = "GARRICK_NATS_PASSWORD",
        hide_env_values = true,
        requires = "user"
    )]
    password: Option<String>,

    /// Token that the server requires.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "GARRICK_NATS_TOKEN",
        hide_env_values = true,
        conflicts_with_all = ["credentials", "user"]
    )]
    token: Option<String>,

    /// Encrypt the connection. An address with `tls://` does the same.
    #[arg(long)]
    tls: bool,

    /// Trust the certificates in this PEM file, too.
    #[arg(long, value_name = "FILE", env = "GARRICK_NATS_CA")]
    ca: Option<PathBuf>,

    /// Certificate of this client, in a PEM file.
    #[arg(
        long,
        value_name = "FILE",
        env = "GARRICK_NATS_CERTIFICATE",
        requires = "key"
    )]
    certificate: Option<PathBuf>,

    /// Key of the certificate, in a PEM file.
    #[arg(
        long,
        value_name = "FILE",
        env = "GARRICK_NATS_KEY",
        requires = "certificate"
    )]
    key: Option<PathBuf>,

    /// Allow unencrypted connections to other machines.
    #[arg(long)]
    plain_text_on_purpose: bool,

    /// Number of servers that store each record of a new cluster.
    #[arg(long, hide = true)]
    replicas: Option<usize>,
}

impl Servers {
    /// Returns true if the user has named servers.
    pub(super) fn are_named(&self) -> bool {
        self.nats.is_some()
    }

    /// Returns the flags for the server at `address`.
    pub(super) fn at(address: String) -> Self {
        Self {
            nats: Some(address),
            ..Self::default()
        }
    }

    /// Sets the number of servers that store each record of a new cluster.
    pub(super) fn replicas(self, replicas: usize) -> Self {
        let replicas = Some(replicas);
        Self { replicas, ..self }
    }

    /// Returns the settings of a connection.
    pub(super) fn builder(&self) -> NatsBuilder {
        let mut builder = NatsNet::builder(self.nats.as_deref().unwrap_or(HERE));
        if let Some(file) = &self.credentials {
            builder = builder.credentials(file);
        }
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            builder = builder.user(user, password);
        }
        if let Some(token) = &self.token {
            builder = builder.token(token);
        }
        if let Some(file) = &self.ca {
            builder = builder.root_certificates(file);
        }
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            builder = builder.certificate(certificate, key);
        }
        if self.tls {
            builder = builder.tls();
        }
        if self.plain_text_on_purpose {
            builder = builder.plain_text_on_purpose();
        }
        if let Some(replicas) = self.replicas {
            builder = builder.replicas(replicas);
        }
        builder
    }

    /// Passes these flags on to another process of this program, as environment variables and
    /// arguments of `command`.
    pub(super) fn pass_on(&self, command: &mut Command) {
        let texts = [
            ("GARRICK_NATS", &self.nats),
            ("GARRICK_NATS_USER", &self.user),
            ("GARRICK_NATS_PASSWORD", &self.password),
            ("GARRICK_NATS_TOKEN", &self.token),
        ];
        let files = [
            ("GARRICK_NATS_CREDENTIALS", &self.credentials),
            ("GARRICK_NATS_CA", &self.ca),
            ("GARRICK_NATS_CERTIFICATE", &self.certificate),
            ("GARRICK_NATS_KEY", &self.key),
        ];
        for (name, value) in texts {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        for (name, value) in files {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if self.tls {
            command.arg("--tls");
        }
        if self.plain_text_on_purpose {
            command.arg("--plain-text-on-purpose");
        }
        if let Some(replicas) = self.replicas {
            command.args(["--replicas", &replicas.to_string()]);
        }
    }
}
