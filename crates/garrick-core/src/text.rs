//! Truncation of text.

/// Returns the beginning of a text: as many whole characters as fit into `bytes_max` bytes.
///
/// # Examples
/// ```
/// use garrick_core::text::beginning;
///
/// assert_eq!(beginning("naïve", 3), "na");
/// assert_eq!(beginning("naïve", 4), "naï");
/// assert_eq!(beginning("naïve", 100), "naïve");
/// ```
pub fn beginning(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
