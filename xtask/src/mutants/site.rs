//! Finds the memory orderings in a source file, each with its operation and its function.
//!
//! The search uses tokens, like the rules of tidy, so that it also finds orderings in the arguments
//! of macros. An ordering that is not an argument of an atomic operation is an error, because the
//! tool must be able to weaken every ordering.

use std::collections::HashSet;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::weaker::{Access, Strength, operation};
use crate::tidy::{Source, Violation, is_ident, is_punct};

/// The type whose variants are orderings.
const ORDERING: &str = "Ordering";

/// Name of the fence that models use next to accesses that must be sequentially consistent. A model
/// that fails without this fence would fail without the consistency.
const FENCE_FOR_LOOM: &str = "fence_for_loom";

/// Name of the file that defines [`FENCE_FOR_LOOM`]. Models use this file, but do not check it.
const DOOR_TO_LOOM: &str = "prim.rs";

/// An ordering that can be weakened.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// Name of the innermost function that contains the ordering. Empty outside of functions.
    pub(super) function: String,
    /// Name of the atomic operation. `compare_exchange/failure` for the second ordering of a
    /// compare-and-exchange.
    pub(super) operation: String,
    pub(super) access: Access,
    pub(super) strength: Strength,
    /// Byte range of the ordering, with its path, such as `Ordering::Acquire`.
    pub(super) ordering: Range<usize>,
    /// Byte range of the whole call, including the path of the function. A mutant that omits a
    /// fence replaces this range.
    pub(super) call: Range<usize>,
}

/// Returns the orderings in `source`, in the order of the text. Skips tests and code for models.
pub(super) fn find(source: &Source) -> Result<Vec<Site>, Violation> {
    if source.path.ends_with(DOOR_TO_LOOM) {
        return Ok(Vec::new());
    }
    let mut finder = Finder {
        source,
        imported: imported(&trees(&source.tokens)),
        sites: Vec::new(),
        error: None,
    };
    finder.walk(&source.tokens, "", None);
    match finder.error {
        Some(violation) => Err(violation),
        None => Ok(finder.sites),
    }
}

struct Finder<'a> {
    source: &'a Source,
    /// Names of orderings that are imported by a `use`, so that they appear without `Ordering::`.
    imported: HashSet<String>,
    sites: Vec<Site>,
    error: Option<Violation>,
}

/// A call whose arguments contain the visited tokens.
struct Call {
    name: String,
    bytes: Range<usize>,
}

impl Finder<'_> {
    /// Visits `tokens`, which are in the function `function`. If there is a `call`, the tokens are
    /// its arguments.
    fn walk(&mut self, tokens: &TokenStream, function: &str, call: Option<&Call>) {
        let trees = trees(tokens);
        let (mut index, mut orderings) = (0, 0);
        // Name of a function whose body has not been visited yet.
        let mut named: Option<String> = None;
        while let Some(tree) = trees.get(index) {
            match tree {
                TokenTree::Ident(ident) if ident == "use" => index = end_of_use(&trees, index),
                TokenTree::Ident(ident) if ident == "fn" => {
                    if let Some(TokenTree::Ident(name)) = trees.get(index + 1) {
                        named = Some(name.to_string());
                    }
                }
                TokenTree::Ident(_) if self.is_ordering(&trees, index, call) => {
                    self.found(&trees, index, function, call, orderings);
                    orderings += 1;
                }
                TokenTree::Ident(ident) if ident == FENCE_FOR_LOOM => {
                    self.found_fence_for_loom(&trees, index, function);
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => named = None,
                TokenTree::Group(group) => {
                    let body = named.take_if(|_| group.delimiter() == Delimiter::Brace);
                    let inner = body.as_deref().unwrap_or(function);
                    let call = call_of(&trees, index);
                    self.walk(&group.stream(), inner, call.as_ref());
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Returns true if the word at `index`, among the arguments of `call`, is an ordering,
    /// including `Relaxed`.
    fn is_ordering(&self, trees: &[TokenTree], index: usize, call: Option<&Call>) -> bool {
        let name = trees[index].to_string();
        if name != "Relaxed" && Strength::of(&name).is_none() {
            return false;
        }
        match path_before(trees, index) {
            Some(before) => before == ORDERING,
            // The name may also have been imported in another way than from `Ordering` itself.
            None => {
                let is_atomic = call.is_some_and(|call| operation(&call.name, 0).is_some());
                (is_atomic || self.imported.contains(&name)) && !is_punct(trees.get(index + 1), ':')
            }
        }
    }

    /// Records a call of the fence that exists only in models.
    fn found_fence_for_loom(&mut self, trees: &[TokenTree], index: usize, function: &str) {
        if let Some(call) = call_of(trees, index + 1)
            && !self.source.is_scaffold_at(call.bytes.start)
        {
            self.sites.push(Site {
                function: function.to_owned(),
                operation: FENCE_FOR_LOOM.to_owned(),
                access: Access::FenceForLoom,
                strength: Strength::SeqCst,
                ordering: call.bytes.clone(),
                call: call.bytes,
            });
        }
    }

    /// Records an ordering. `nth` is its number among the orderings of the call, from 0.
    fn found(
        &mut self,
        trees: &[TokenTree],
        index: usize,
        function: &str,
        call: Option<&Call>,
        nth: usize,
    ) {
        let span = trees[index].span();
        let Some(strength) = Strength::of(&trees[index].to_string()) else {
            return;
        };
        if self.source.is_scaffold_at(span.byte_range().start) {
            return;
        }
        let atomic = call.and_then(|call| Some((call, operation(&call.name, nth)?)));
        let Some((call, (operation, access))) = atomic else {
            self.error = self.error.take().or_else(|| {
                let wrong = "an ordering that is not an argument of an atomic operation";
                let allowed = "orderings that `xtask/src/mutants` can weaken";
                Some(self.source.violation(span, wrong, allowed))
            });
            return;
        };
        self.sites.push(Site {
            function: function.to_owned(),
            operation,
            access,
            strength,
            ordering: start_of_path(trees, index)..span.byte_range().end,
            call: call.bytes.clone(),
        });
    }
}

fn trees(tokens: &TokenStream) -> Vec<TokenTree> {
    tokens.clone().into_iter().collect()
}

/// Returns the end of the `use` item at `index`. The `use<..>` of a return type is not an item.
fn end_of_use(trees: &[TokenTree], index: usize) -> usize {
    if is_punct(trees.get(index + 1), '<') {
        return index;
    }
    let end = (index..trees.len()).find(|&at| is_punct(trees.get(at), ';'));
    end.unwrap_or(trees.len())
}

/// Returns the names that `use` items import as variants of `Ordering`, also in modules and
/// functions.
fn imported(trees: &[TokenTree]) -> HashSet<String> {
    let mut names = HashSet::new();
    for (index, tree) in trees.iter().enumerate() {
        if let TokenTree::Group(group) = tree {
            names.extend(imported(&self::trees(&group.stream())));
        }
        let is_path = is_punct(trees.get(index + 1), ':') && is_punct(trees.get(index + 2), ':');
        if is_ident(Some(tree), ORDERING) && is_path {
            match trees.get(index + 3) {
                Some(TokenTree::Group(group)) => {
                    let parts = self::trees(&group.stream()).into_iter();
                    names.extend(parts.map(|part| part.to_string()));
                }
                // The path may also be in code that is not a `use`. Then recording the name has no
                // effect, because the name does not occur alone.
                Some(TokenTree::Ident(name)) => {
                    names.insert(name.to_string());
                }
                _ => {}
            }
        }
    }
    names
}

/// Returns the word before `::` and the word at `index`.
fn path_before(trees: &[TokenTree], index: usize) -> Option<String> {
    let is_path =
        index >= 3 && is_punct(trees.get(index - 1), ':') && is_punct(trees.get(index - 2), ':');
    is_path.then(|| trees[index - 3].to_string())
}

/// Returns the start of the path whose last word is at `index`.
fn start_of_path(trees: &[TokenTree], mut index: usize) -> usize {
    while path_before(trees, index).is_some() {
        index -= 3;
    }
    trees[index].span().byte_range().start
}

/// Returns the call whose arguments are the group at `index`.
fn call_of(trees: &[TokenTree], index: usize) -> Option<Call> {
    let Some(TokenTree::Group(group)) = trees.get(index) else {
        return None;
    };
    let TokenTree::Ident(name) = trees.get(index.checked_sub(1)?)? else {
        return None;
    };
    (group.delimiter() == Delimiter::Parenthesis).then(|| Call {
        name: name.to_string(),
        bytes: start_of_path(trees, index - 1)..group.span().byte_range().end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const USE: &str =
        "use crate::prim::atomic::{AtomicU8, Ordering::{self, AcqRel, Acquire, Relaxed, Release}};";

    fn find_in(text: &str) -> Result<Vec<String>, Violation> {
        let text = format!("{USE}\n{text}");
        let source = Source::parse(Path::new("a.rs"), &[], false, text.clone())?;
        let describe = |site: &Site| {
            let ordering = &text[site.ordering.clone()];
            format!("{}:{}:{ordering}", site.function, site.operation)
        };
        Ok(find(&source)?.iter().map(describe).collect())
    }

    fn sites(text: &str) -> Vec<String> {
        find_in(text).expect("every ordering is an operation's")
    }

    #[test]
    fn an_ordering_is_known_by_its_function_and_operation() {
        assert_eq!(
            sites(
                "impl A { fn get(&self) -> u8 { self.0.load(Acquire) } }
                   fn put(a: &A) { if true { a.0.store(a.get(), Release); } }"
            ),
            ["get:load:Acquire", "put:store:Release"]
        );
    }

    #[test]
    fn paths_are_taken_whole() {
        assert_eq!(
            sites("fn f() { x.swap(1, Ordering::AcqRel); }"),
            ["f:swap:Ordering::AcqRel"]
        );
        let text = "fn f() { crate::prim::atomic::fence(Acquire); }";
        let source = format!("{USE}\n{text}");
        let source = Source::parse(Path::new("a.rs"), &[], false, source).expect("valid Rust");
        let site = &find(&source).expect("a site")[0];
        assert_eq!(
            &source.text[site.call.clone()],
            "crate::prim::atomic::fence(Acquire)"
        );
    }

    #[test]
    fn the_two_orderings_of_an_exchange_are_told_apart() {
        assert_eq!(
            sites("fn f() { x.compare_exchange(A, B, Release, Acquire); }"),
            [
                "f:compare_exchange:Release",
                "f:compare_exchange/failure:Acquire"
            ]
        );
        assert_eq!(
            sites("fn f() { x.compare_exchange(A, B, Relaxed, Acquire); }"),
            ["f:compare_exchange/failure:Acquire"]
        );
    }

    #[test]
    fn an_operation_among_the_arguments_of_another_is_its_own() {
        assert_eq!(
            sites("fn f() { x.store(x.load(Acquire).wrapping_add(y), Release); }"),
            ["f:load:Acquire", "f:store:Release"]
        );
    }

    #[test]
    fn macros_and_closures_are_looked_into() {
        assert_eq!(
            sites(
                "fn f() { debug_assert_eq!(x.load(Acquire), 1); let g = |x: &A| x.load(Acquire); }"
            ),
            ["f:load:Acquire", "f:load:Acquire"]
        );
    }

    #[test]
    fn tests_comments_imports_and_other_words_are_not() {
        assert_eq!(
            sites(
                "/// Release: `x.store(1, Release)`.
                   // x.store(1, Release)
                   #[cfg(test)] mod tests { fn f() { x.load(Acquire); } }
                   fn g(kind: Kind) { h(Kind::Release); x.load(Relaxed); }"
            ),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_ordering_by_another_name_of_its_module_is_one() {
        let text = "use a::unmodelled::{AtomicU8, SeqCst}; fn f() { x.load(SeqCst); }";
        assert_eq!(sites(text), ["f:load:SeqCst"]);
    }

    #[test]
    fn the_fence_of_models_is_a_site_where_it_is_called() {
        assert_eq!(
            sites("fn f() { x.store(1, Relaxed); prim::fence_for_loom(); } use a::fence_for_loom;"),
            ["f:fence_for_loom:prim::fence_for_loom()"]
        );
    }

    #[test]
    fn an_ordering_elsewhere_is_an_error() {
        assert!(find_in("const ORDER: Ordering = Release;").is_err());
        assert!(find_in("fn f() { publish(x, Release); }").is_err());
    }
}
