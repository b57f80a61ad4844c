//! Options of a block and marks of its methods. Both are arguments of the attribute `#[actor(..)]`.

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Ident, LitStr, Path, Result, Token, Visibility, parenthesized, parse_quote,
};

use crate::attributes;
use crate::errors::Errors;

const OPTIONS: &str = "a visibility such as `pub(crate)`, `name = \"...\"`, `handle = Name`, \
                       `message = Name`, `derive(Trait, ...)` and `crate = path`";

const MARKS: &str = "`#[actor(skip)]` if it handles no message, or `#[actor(started)]` if it is called once, \
                     before the first message";

/// Options of a block.
#[derive(Default)]
pub(crate) struct Options {
    /// Visibility of the message type and the handle type, if given.
    pub(crate) visibility: Option<Visibility>,
    /// Name of the actor in reports, if given.
    pub(crate) name: Option<LitStr>,
    /// Name of the handle type, if given.
    pub(crate) handle: Option<Ident>,
    /// Name of the message type, if given.
    pub(crate) message: Option<Ident>,
    /// Traits that the message type derives.
    pub(crate) derives: Vec<Path>,
    /// Path of the crate that contains the actor types, if given.
    krate: Option<Path>,
}

impl Options {
    /// Returns the path of the crate that contains the actor types. The default is the facade.
    pub(crate) fn krate(&self) -> Path {
        self.krate
            .clone()
            .unwrap_or_else(|| parse_quote!(::garrick))
    }

    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        if input.peek(Token![pub]) {
            let visibility = input.parse()?;
            return once(&mut self.visibility, visibility, &"pub");
        }
        let key = Ident::parse_any(input)?;
        match key.to_string().as_str() {
            "name" => once(&mut self.name, value(input)?, &key),
            "handle" => once(&mut self.handle, value(input)?, &key),
            "message" => once(&mut self.message, value(input)?, &key),
            "crate" => {
                input.parse::<Token![=]>()?;
                once(&mut self.krate, input.call(Path::parse_mod_style)?, &key)
            }
            "derive" => self.parse_derives(input),
            _ => {
                let message =
                    format!("`#[actor]` has no option `{key}`; the options are {OPTIONS}");
                Err(Error::new_spanned(key, message))
            }
        }
    }

    fn parse_derives(&mut self, input: ParseStream<'_>) -> Result<()> {
        let content;
        parenthesized!(content in input);
        let paths =
            Punctuated::<_, Token![,]>::parse_terminated_with(&content, Path::parse_mod_style)?;
        self.derives.extend(paths);
        Ok(())
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Sets `place` to `value`. Returns an error if `place` is already set, because each option may be
/// given only once.
fn once<T: quote::ToTokens>(place: &mut Option<T>, value: T, key: &impl ToString) -> Result<()> {
    if place.is_some() {
        let message = format!("the option `{}` is given twice", key.to_string());
        return Err(Error::new_spanned(value, message));
    }
    *place = Some(value);
    Ok(())
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            options.parse_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// The role of a method that handles no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A plain method.
    Skip,
    /// The method that is called once, before the first message.
    Started,
}

impl Mark {
    fn parse(attribute: &Attribute) -> Result<Self> {
        let mark: Option<Ident> = attribute.parse_args_with(Ident::parse_any).ok();
        match mark {
            Some(mark) if mark == "skip" => Ok(Self::Skip),
            Some(mark) if mark == "started" => Ok(Self::Started),
            _ => Err(Error::new_spanned(
                attribute,
                format!("a method can be marked {MARKS}"),
            )),
        }
    }

    /// Removes all marks from `attributes` and returns the last one. An invalid mark counts as
    /// `skip`, so that it causes only one error.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Option<Self> {
        let mut taken = None;
        for attribute in attributes.extract_if(.., |a| attributes::is_mark(a.path())) {
            if taken.is_some() {
                errors.at(
                    &attribute,
                    "a method can have at most one `#[actor(..)]` mark",
                );
            }
            taken = Some(Self::parse(&attribute).unwrap_or_else(|error| {
                errors.push(error);
                Self::Skip
            }));
        }
        for attribute in attributes.extract_if(.., |a| attributes::is_conditional_mark(a)) {
            errors.at(
                &attribute,
                "an `#[actor(..)]` mark cannot be conditional; write two versions of the method, each with its own `#[cfg]`",
            );
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn error(options: &str) -> String {
        match syn::parse_str::<Options>(options) {
            Ok(_) => panic!("`{options}` was accepted"),
            Err(error) => error.to_string(),
        }
    }

    fn krate(options: &Options) -> String {
        options.krate().to_token_stream().to_string()
    }

    #[test]
    fn options_are_read() {
        let options: Options = parse_quote!(
            pub(crate), name = "n", handle = H, message = M, crate = ::a::b, derive(Clone, a::B),
        );
        assert!(matches!(
            options.visibility,
            Some(Visibility::Restricted(_))
        ));
        assert_eq!(options.name.as_ref().unwrap().value(), "n");
        assert_eq!(options.handle.as_ref().unwrap(), "H");
        assert_eq!(options.message.as_ref().unwrap(), "M");
        assert_eq!(krate(&options), ":: a :: b");
        assert_eq!(options.derives.len(), 2);
    }

    #[test]
    fn the_crate_is_the_facade_unless_told() {
        assert_eq!(krate(&Options::default()), ":: garrick");
        let options: Options = parse_quote!(crate = crate);
        assert_eq!(krate(&options), "crate");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(error("color = 1").contains("has no option `color`"));
        assert!(error("name = \"a\", name = \"b\"").contains("given twice"));
        assert!(error("pub, pub(crate)").contains("given twice"));
        assert!(error("handle = H message = M").contains("`,`"));
        assert!(error("name = name").contains("string"));
    }

    #[test]
    fn marks_are_taken() {
        let mut errors = Errors::default();
        let mut attributes: Vec<Attribute> = parse_quote!(#[inline] #[garrick::actor(started)]);
        assert_eq!(
            Mark::take(&mut attributes, &mut errors),
            Some(Mark::Started)
        );
        assert_eq!(attributes.len(), 1);
        assert_eq!(Mark::take(&mut attributes, &mut errors), None);
        assert!(errors.messages().is_empty());
    }

    #[test]
    fn marks_without_sense_are_reported() {
        let mut errors = Errors::default();
        let mut attributes: Vec<Attribute> = parse_quote! {
            #[actor]
            #[actor(skip)]
            #[cfg_attr(unix, actor(skip))]
        };
        let _ = Mark::take(&mut attributes, &mut errors);
        assert_eq!(errors.messages().len(), 3);
    }
}
