//! Encrypted connections.

use std::fs;
use std::path::{Path, PathBuf};

use garrick_cluster::nats::{NatsError, NatsNet};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::place::{Msg, Place};
use crate::server::Server;

/// Files with a certificate and its key.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// A certificate authority, with a folder for its files. The folder is removed when the value is
/// dropped.
struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let folder = format!("nats-certificates-{}-{name}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&folder).unwrap();
        let (mut params, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.join("authority.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Self { folder, issuer }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// Creates a certificate.
    fn make(&self, name: &str, subject: &str) -> Files {
        let params = CertificateParams::new(vec![subject.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        let files = Files {
            certificate: self.folder.join(format!("{name}.pem")),
            key: self.folder.join(format!("{name}.key")),
        };
        fs::write(&files.certificate, signed.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the configuration of a server with a certificate for `subject`.
fn tls(authority: &Authority, subject: &str, verify: bool) -> String {
    let (own, ca) = (authority.make("server", subject), authority.file());
    let (certificate, key) = (own.certificate, own.key);
    format!(
        "tls {{ cert_file: {certificate:?}, key_file: {key:?}, ca_file: {ca:?}, verify: {verify} }}"
    )
}

#[test]
fn the_server_has_to_be_the_right_one() {
    let (authority, other) = (Authority::new("right"), Authority::new("other"));
    let Some(server) = Server::start(&tls(&authority, "127.0.0.1", false)) else {
        return;
    };
    let builder = || NatsNet::builder(server.address());
    let place = |name| {
        let builder = builder().root_certificates(authority.file());
        Place::new(builder, "test", name)
    };
    let (here, there) = (place("here"), place("there"));
    assert_eq!(here.far("there").ask(Msg::Count).wait(), Ok(0));
    drop(there);
    // Signed by an unknown authority.
    for unknown in [builder().tls(), builder().root_certificates(other.file())] {
        let error = unknown.start().unwrap_err();
        assert!(matches!(&error, NatsError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
    // Made for another host.
    let Some(wrong) = Server::start(&tls(&authority, "nats.example.org", false)) else {
        return;
    };
    let builder = NatsNet::builder(wrong.address()).root_certificates(authority.file());
    let error = builder.start().unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
}

#[test]
fn the_node_shows_its_certificate() {
    let authority = Authority::new("nodes");
    let Some(server) = Server::start(&tls(&authority, "127.0.0.1", true)) else {
        return;
    };
    let builder = || {
        let address = server.address().replace("nats://", "tls://");
        NatsNet::builder(address).root_certificates(authority.file())
    };
    let own = authority.make("node", "here");
    let place = |name| {
        let builder = builder().certificate(own.certificate.clone(), own.key.clone());
        Place::new(builder, "test", name)
    };
    let (here, _there) = (place("here"), place("there"));
    assert_eq!(here.far("there").ask(Msg::Count).wait(), Ok(0));
    let error = builder().start().unwrap_err();
    assert!(matches!(error, NatsError::Unreachable { .. }), "{error}");
}
