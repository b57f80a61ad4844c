//! Flags of the subcommands that look at a cluster from outside.

use std::time::Duration;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use garrick_cluster::MemberOverview;
use garrick_cluster::nats::{NatsError, NatsObserver};

use super::servers::Servers;

/// Time after which the other members remove a member that sends no heartbeats.
const SILENT: Duration = Duration::from_secs(5);

/// Flags of a command that looks at a cluster.
#[derive(Debug, Args)]
pub(super) struct Observed {
    #[command(flatten)]
    servers: Servers,

    /// Name of the cluster.
    #[arg(long, value_name = "NAME", env = "GARRICK_CLUSTER")]
    cluster: String,

    /// Name for which the permissions of the user were made. See `garrick cluster permissions`.
    #[arg(long = "as", value_name = "NAME", default_value = "operator")]
    name: String,
}

impl Observed {
    pub(super) fn open(&self) -> Result<NatsObserver, NatsError> {
        NatsObserver::open(self.servers.builder(), &self.cluster, &self.name)
    }

    pub(super) fn cluster(&self) -> &str {
        &self.cluster
    }
}

/// Returns a word for the state of a member.
pub(super) fn state(member: &MemberOverview) -> &'static str {
    match member.silent_for {
        Some(silent) if silent >= SILENT => "silent",
        _ if member.is_draining => "draining",
        _ => "member",
    }
}

/// Returns an empty table. The columns with numbers are aligned to the right.
pub(super) fn table(header: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for &number in numbers {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
