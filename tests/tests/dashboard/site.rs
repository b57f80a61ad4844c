//! Tests of the site of the guides, which `cargo xtask site` builds. The tests read it from the
//! disk: it needs no server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::OVERFLOW;
use crate::browser::{Page, Screen};

/// Environment variable with the folder of the site.
const SITE: &str = "GARRICK_SITE";

/// Elements of the text whose content is cut off, or is wider than the window.
const CUT: &str = "[...document.querySelectorAll('main *')].filter((element) => {
    const style = getComputedStyle(element);
    const hides = style.overflowX === 'hidden' && element.scrollWidth > element.clientWidth + 1;
    const wide = element.tagName === 'IMG' && element.getBoundingClientRect().right > innerWidth + 1;
    return element.clientWidth > 1 && (hides || wide);
}).map((element) => element.outerHTML.slice(0, 200))";

/// True if the results of the search contain the guide to patterns.
const FOUND: &str = "[...document.querySelectorAll('#mdbook-searchresults a')]
    .some((link) => link.href.includes('/patterns.html'))";

/// Returns the folder of the site. Returns `None` if this run is not about the site.
fn site() -> Option<PathBuf> {
    let site = env::var_os(SITE).map(PathBuf::from);
    if site.is_none() {
        eprintln!("passed over: {SITE} is not set; `cargo xtask site` sets it");
    }
    site
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

#[test]
fn guides_fit_at_both_widths() {
    let Some(site) = site() else {
        return;
    };
    let files = ["docs", "crates/garrick-macros/src"]
        .into_iter()
        .flat_map(|folder| {
            let files = fs::read_dir(site.join(folder)).expect("the site has this folder");
            files.map(|entry| entry.expect("a file").path())
        });
    let mut pages: Vec<PathBuf> = files
        .chain(["index.html", "COMPARE.html", "ARCHITECTURE.html"].map(|page| site.join(page)))
        .filter(|page| {
            page.extension()
                .is_some_and(|extension| extension == "html")
        })
        .collect();
    pages.sort_unstable();
    assert!(pages.len() > 40, "{pages:?}");
    let page = Page::open(&address(&site.join("index.html")), Screen::WIDE);
    let mut wrong = Vec::new();
    for screen in [Screen::WIDE, Screen::PHONE.dark()] {
        page.show_on(screen);
        for path in &pages {
            page.go(&address(path));
            let (overflow, cut) = (page.eval(OVERFLOW), page.eval(CUT));
            if overflow != json!(0) || cut != json!([]) {
                wrong.push(format!(
                    "{} at {}: {overflow}, {cut}",
                    path.display(),
                    screen.width
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    page.is_clean();
}

#[test]
fn the_search_finds_a_guide() {
    let Some(site) = site() else {
        return;
    };
    let page = Page::open(&address(&site.join("docs/patterns.html")), Screen::WIDE);
    page.keep("site-patterns");
    page.keys("s");
    page.wait("document.activeElement.id === 'mdbook-searchbar'");
    page.keys("saga flight");
    page.wait(FOUND);
    page.show_on(Screen::PHONE.dark());
    page.go(&address(&site.join("docs/choosing.html")));
    page.keep("site-choosing-phone");
    page.is_clean();
}
