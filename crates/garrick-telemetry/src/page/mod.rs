//! The page that `/` shows, as bytes.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    /// Its path on the server.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// What is in it.
    pub(crate) bytes: &'static [u8],
}

/// All files of the page. They hold nothing about the process, so they need no token.
pub(crate) const ASSETS: &[Asset] = &[
    Asset {
        path: "/",
        media_type: "text/html; charset=utf-8",
        bytes: include_bytes!("plain.html"),
    },
    Asset {
        path: "/page/plain.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("plain.js"),
    },
];
