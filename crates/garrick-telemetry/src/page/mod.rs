//! The page of the dashboard at `/`, which consists of plain files that are embedded unchanged.
//!
//! ```text
//!   index.html -- theme.js                  light or dark, before the first paint
//!              \- style.css
//!              \- app.js -- stream.js       /events, /history.json, the token
//!                        |- store.js        the snapshot shown, and the last minutes
//!                        |- graph.js ------ collapse.js, layout.js
//!                        |- table.js
//!                        |- details.js
//!                        |- actors.js
//!                        |- failures.js
//!                        |- own.js          metrics of the program itself
//!                        \- tree.js         each of these: dom.js, format.js; some: spark.js
//! ```
//!
//! There is no build step, and no content from other servers. Each file has its own path, so the
//! content security policy can restrict the browser to content from this server.
//! `docs/dashboard.md` is the guide to the page.

/// A file of the dashboard's page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    /// Path of the file on the server.
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    /// Contents of the file.
    pub(crate) bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

const fn asset(path: &'static str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    Asset {
        path,
        media_type,
        bytes,
    }
}

/// All files of the dashboard's page. The files contain no data about the process, so a client
/// needs no token to read them.
pub(crate) const ASSETS: &[Asset] = &[
    asset("/", HTML, include_bytes!("index.html")),
    asset("/page/style.css", STYLE, include_bytes!("style.css")),
    asset("/page/icon.svg", IMAGE, include_bytes!("icon.svg")),
    asset("/page/theme.js", SCRIPT, include_bytes!("theme.js")),
    asset("/page/app.js", SCRIPT, include_bytes!("app.js")),
    asset("/page/stream.js", SCRIPT, include_bytes!("stream.js")),
    asset("/page/store.js", SCRIPT, include_bytes!("store.js")),
    asset("/page/graph.js", SCRIPT, include_bytes!("graph.js")),
    asset("/page/collapse.js", SCRIPT, include_bytes!("collapse.js")),
    asset("/page/layout.js", SCRIPT, include_bytes!("layout.js")),
    asset("/page/table.js", SCRIPT, include_bytes!("table.js")),
    asset("/page/details.js", SCRIPT, include_bytes!("details.js")),
    asset("/page/actors.js", SCRIPT, include_bytes!("actors.js")),
    asset("/page/failures.js", SCRIPT, include_bytes!("failures.js")),
    asset("/page/tree.js", SCRIPT, include_bytes!("tree.js")),
    asset("/page/own.js", SCRIPT, include_bytes!("own.js")),
    asset("/page/dom.js", SCRIPT, include_bytes!("dom.js")),
    asset("/page/format.js", SCRIPT, include_bytes!("format.js")),
    asset("/page/spark.js", SCRIPT, include_bytes!("spark.js")),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
        let text = |asset: &Asset| std::str::from_utf8(asset.bytes).expect("files are text");
        ASSETS.iter().map(move |asset| (asset.path, text(asset)))
    }

    /// Returns one word for each occurrence of `mark` in `text`: the word between this occurrence
    /// and the next quote.
    fn quoted<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
        let parts = text.split(mark).skip(1);
        parts.filter_map(|part| part.split('"').next()).collect()
    }

    #[test]
    fn every_file_that_is_named_is_served() {
        let served = |path: &str| ASSETS.iter().any(|asset| asset.path == path);
        let mut named = 0;
        for (path, text) in texts() {
            let mut names = quoted(text, "from \"./");
            names.extend(quoted(text, "src=\"page/"));
            names.extend(quoted(text, "href=\"page/"));
            named += names.len();
            for name in names {
                assert!(served(&format!("/page/{name}")), "{path} names {name}");
            }
        }
        assert!(named >= ASSETS.len(), "only {named} names were found");
    }

    #[test]
    fn nothing_is_from_elsewhere_and_no_markup_is_made_of_text() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ];
        for (path, text) in texts() {
            let addresses = text.matches("://").count();
            let namespaces = text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(addresses, namespaces, "{path} has an address");
            for word in forbidden {
                assert!(!text.contains(word), "{path} has {word}");
            }
        }
    }
}
