//! `cargo xtask site`: the guides as a site with search, which needs no network.
//!
//! ```text
//!   docs/README.md ---> table of contents --+
//!   pages, pictures ------------------------+--> target/site-source --- mdBook --> target/site
//!   linked sources ---> listings -----------+                                          |
//!   the reference of `cargo doc` -----------------------------------------------> target/site/api
//! ```
//!
//! The site has the folders of the repository, so links between pages stay as they are.
//!
//! | module | contents |
//! | --- | --- |
//! | [`listing`] | pages of sources and folders to which pages link |
//! | [`source`] | the input of mdBook |
//! | [`api`] | the copy of the reference |
//! | [`check`] | the links of the finished site |

mod listing;

mod source;

mod api;
mod check;

use std::path::Path;

use anyhow::{Result, bail};

use crate::process::Job;
use crate::workspace::Workspace;

/// Folder of the site, in the target folder.
const SITE: &str = "site";
/// Folder of the input of mdBook, in the target folder.
const SOURCE: &str = "site-source";

/// Folder of the reference in the site.
const API: &str = "api";

/// Builds the site with the program at the path `mdbook`. Returns a summary. The reference must
/// have been built.
pub(crate) fn build(workspace: &Workspace, mdbook: &Path) -> Result<String> {
    let (site, folder) = (workspace.target.join(SITE), workspace.target.join(SOURCE));
    let pages = source::write(workspace, &folder, &site)?;
    let log = workspace.log_folder()?.join("mdbook.txt");
    Job::new(mdbook)
        .arguments(&["build"])
        .arguments(&[&folder])
        .run_logged(&log)?;
    api::copy(&workspace.target.join("doc"), &site.join(API))?;
    let checked = check::links(&site)?;
    for broken in &checked.broken {
        println!("{broken}");
    }
    if !checked.broken.is_empty() {
        bail!("broken links in the site: {}", checked.broken.len());
    }
    let index = site.join("index.html");
    Ok(format!(
        "{pages} pages, {} links, {}",
        checked.count,
        index.display()
    ))
}
