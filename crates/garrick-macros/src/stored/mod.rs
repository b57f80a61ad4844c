//! The derive macro `Stored`, which encodes events and saved states.

mod attribute;

mod parse;

mod expand;

use proc_macro2::TokenStream;

use crate::errors::Errors;

/// Expands `#[derive(Stored)]` on `item`. Returns the implementation of `Stored`, followed by all
/// errors.
pub(crate) fn stored(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let input = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut code = parse::input(&input, &mut errors)
        .map(|stored| expand::implementation(&stored))
        .unwrap_or_default();
    code.extend(errors.into_compile_errors());
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn expanded(item: TokenStream) -> String {
        stored(item).to_string().replace(' ', "")
    }

    #[test]
    fn each_variant_has_its_tag_and_versions() {
        let code = expanded(quote! {
            enum Event {
                #[stored(tag = 7, version = 3, upcast(1 = one, 2 = Self::two))]
                Moved { to: u8 },
            }
        });
        for part in [
            "impl::garrick::journal::StoredforEvent",
            "name:\"Event::Moved\",tag:7u16,versions:&[3u16,2u16,1u16]",
            "(7u16,1u16)=>fields.upcast::<Self,_,_>(one)",
            "(7u16,2u16)=>fields.upcast::<Self,_,_>(Self::two)",
        ] {
            assert!(code.contains(part), "{part} is missing in {code}");
        }
    }

    #[test]
    fn the_path_of_the_crate_can_be_given() {
        let code = expanded(quote! {
            #[stored(tag = 1, crate = garrick_journal)]
            struct State(u8);
        });
        assert!(code.contains("implgarrick_journal::StoredforState"));
    }

    #[test]
    fn what_is_wrong_is_reported_together() {
        let code = expanded(quote! {
            enum Event {
                One,
                #[stored(tag = 1)] Two,
                #[stored(tag = 1)] Three,
            }
        });
        assert_eq!(code.matches("compile_error").count(), 2);
        assert!(code.contains("impl::garrick::journal::StoredforEvent"));
    }
}
