//! The errors of an `impl` block, which are collected and reported together.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Error;

/// The errors that have been found so far.
#[derive(Debug, Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            none => *none = Some(error),
        }
    }

    /// Adds an error with the text `message` at the position of `culprit`.
    pub(crate) fn at(&mut self, culprit: impl ToTokens, message: impl Display) {
        self.push(Error::new_spanned(culprit, message));
    }

    /// Adds all errors of `other`. Returns true if `other` has any errors.
    pub(crate) fn append(&mut self, other: Self) -> bool {
        let any = other.0.is_some();
        if let Some(error) = other.0 {
            self.push(error);
        }
        any
    }

    /// Returns one invocation of `compile_error!` for each error.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0
            .map(|error| error.to_compile_error())
            .unwrap_or_default()
    }

    /// Returns the messages of the collected errors, in order.
    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        let errors = self.0.into_iter().flatten();
        errors.map(|error| error.to_string()).collect()
    }
}
