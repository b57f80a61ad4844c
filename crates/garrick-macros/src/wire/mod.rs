//! The derive macro `Wire`, which encodes messages between nodes.

mod attribute;

mod numbers;

mod parse;

mod expand;

use proc_macro2::TokenStream;
use syn::Path;

use crate::errors::Errors;

/// Expands `#[derive(Wire)]` on `item`. Returns the implementation of `Wire`, followed by all
/// errors. `krate` is the path of the module that contains the trait `Wire`, unless an attribute of
/// the type names another path.
pub(crate) fn wire(item: TokenStream, krate: Path) -> TokenStream {
    let mut errors = Errors::default();
    let input = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let message = parse::input(&input, krate, &mut errors);
    let found = errors.into_compile_errors();
    let mut code = message.map_or_else(TokenStream::new, |message| {
        expand::implementation(&message, found.is_empty())
    });
    code.extend(found);
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;
    use syn::parse_quote;

    fn expanded(item: TokenStream) -> String {
        let krate = parse_quote!(::garrick::wire);
        wire(item, krate).to_string().replace(' ', "")
    }

    #[test]
    fn numbers_are_those_of_the_order_until_there_are_others() {
        let code = expanded(quote!(
            struct Deposit {
                account: u64,
                cents: u64,
            }
        ));
        assert!(code.contains("out.field(1u32,field_0)?;out.field(2u32,field_1)?;"));
        let code = expanded(quote!(
            #[wire(version = 2)]
            struct Deposit {
                #[wire(7)]
                account: u64,
                #[wire(3, default = one)]
                cents: u64,
            }
        ));
        assert!(
            code.contains("out.field(3u32,field_1)?;out.field(7u32,field_0)?;"),
            "{code}"
        );
        assert!(code.contains("fields.optional::<u64>(3u32,\"cents\",||one())?"));
    }

    #[test]
    fn the_path_and_the_context_can_be_given() {
        let code = expanded(quote!(
            #[wire(crate = other, context = Node)]
            enum Command {
                Stop,
            }
        ));
        assert!(code.contains("implother::Wire<Node>forCommand"), "{code}");
    }

    #[test]
    fn what_is_wrong_is_reported_together() {
        let code = expanded(quote!(
            #[wire(version = 2)]
            struct Deposit {
                account: u64,
                #[wire(1)]
                cents: usize,
                #[wire(1)]
                currency: String,
            }
        ));
        assert_eq!(code.matches("compile_error").count(), 3, "{code}");
        assert!(code.contains("::garrick::wire::Wire<__Context>forDeposit"));
    }
}
