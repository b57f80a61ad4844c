//! Pages in Markdown: their links and anchors, and the table of contents of the guides.
//!
//! | module | contents |
//! | --- | --- |
//! | [`markdown`] | links and anchors of a page |
//! | [`contents`] | the table of contents, which is the index of the guides |

mod markdown;

mod contents;

pub(crate) use contents::{Chapter, INDEX, Part, parts};
pub(crate) use markdown::{anchors, links, resolve};
