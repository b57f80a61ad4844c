//! The attributes `#[wire(..)]` of a type, a variant or a field.

use std::fmt;

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Ident, LitInt, LitStr, Path, Result, Token, Type};

use crate::errors::Errors;

/// The largest number that identifies a field or a variant.
const NUMBER_MAX: u32 = (1 << 29) - 1;

/// The maximum length in bytes of a name in an attribute.
const NAME_MAX: usize = 128;

/// The kind of item that has an attribute `#[wire(..)]`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Type,
    Variant,
    Field,
}

/// A number in an attribute, with its position.
pub(super) struct Number {
    pub(super) value: u32,
    pub(super) at: LitInt,
}

/// The value that a field gets if a received message does not contain it.
pub(super) enum Missing {
    /// The default value of the field's type.
    OfType,
    /// The value that a function returns. Contains the path of this function.
    Function(Path),
}

/// The options in the attributes `#[wire(..)]` of a type, a variant or a field.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) number: Option<Number>,
    pub(super) name: Option<LitStr>,
    pub(super) version: Option<u16>,
    pub(super) context: Option<Type>,
    /// Path of the module that contains the trait `Wire`, if given.
    pub(super) krate: Option<Path>,
    pub(super) missing: Option<Missing>,
    /// Set if serde encodes the field. The inner text is the name of the field's type in the lock
    /// file, if given.
    pub(super) serde: Option<Option<LitStr>>,
    /// True if an option is wrong. In this case, the options that follow the wrong one were perhaps
    /// not read.
    pub(super) is_wrong: bool,
}

impl Place {
    fn options(self) -> &'static str {
        match self {
            Self::Type => {
                "`name = \"bank.Deposit\"`, `version = 2`, `context = Type` and `crate = path`"
            }
            Self::Variant => "a number, such as `#[wire(3)]`",
            Self::Field => {
                "a number, such as `#[wire(3)]`, `default`, `default = path`, `serde` and `serde = \"name\"`"
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Type => "type",
            Self::Variant => "variant",
            Self::Field => "field",
        })
    }
}

impl Attributes {
    /// Reads the attributes `#[wire(..)]` among the `attributes` of an item of the kind `place`.
    pub(super) fn read(attributes: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
            let options = attribute.meta.require_list().and_then(|list| {
                let parser = |input: ParseStream<'_>| read.options(input, place);
                parser.parse2(list.tokens.clone())
            });
            if let Err(error) = options {
                errors.push(error);
                read.is_wrong = true;
            }
        }
        read
    }

    fn options(&mut self, input: ParseStream<'_>, place: Place) -> Result<()> {
        loop {
            self.option(input, place)?;
            if input.is_empty() {
                return Ok(());
            }
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                return Ok(());
            }
        }
    }

    fn option(&mut self, input: ParseStream<'_>, place: Place) -> Result<()> {
        if !input.peek(Ident::peek_any) && place != Place::Type {
            let number = number(input, place)?;
            let at = number.at.clone();
            return once(&mut self.number, number, at.span());
        }
        let key = input.call(Ident::parse_any).map_err(|error| {
            let message = format!("the options of a {place} are {}", place.options());
            Error::new(error.span(), message)
        })?;
        let at = key.span();
        let text = key.to_string();
        match (place, text.as_str()) {
            (Place::Type, "name") => once(&mut self.name, name(input)?, at),
            (Place::Type, "version") => once(&mut self.version, version(input)?, at),
            (Place::Type, "context") => once(&mut self.context, value(input)?, at),
            (Place::Type, "crate") => {
                input.parse::<Token![=]>()?;
                once(&mut self.krate, input.call(Path::parse_mod_style)?, at)
            }
            (Place::Field, "default") if input.peek(Token![=]) => {
                once(&mut self.missing, Missing::Function(value(input)?), at)
            }
            (Place::Field, "default") => once(&mut self.missing, Missing::OfType, at),
            (Place::Field, "serde") if input.peek(Token![=]) => {
                once(&mut self.serde, Some(name(input)?), at)
            }
            (Place::Field, "serde") => once(&mut self.serde, None, at),
            _ => {
                let message = format!(
                    "a {place} has no option `{text}`; the options of a {place} are {}",
                    place.options()
                );
                Err(Error::new(at, message))
            }
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T, at: proc_macro2::Span) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(at, "this option is given twice")),
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Parses an equals sign and a name, such as `= "name"`.
fn name(input: ParseStream<'_>) -> Result<LitStr> {
    let name: LitStr = value(input)?;
    let text = name.value();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.len() > NAME_MAX || !text.chars().all(is_allowed) {
        let message = format!(
            "a name has 1 to {NAME_MAX} ASCII letters, digits, `.`, `_` and `-`, because it stands in the lock file"
        );
        return Err(Error::new(name.span(), message));
    }
    Ok(name)
}

fn version(input: ParseStream<'_>) -> Result<u16> {
    input.parse::<Token![=]>()?;
    let wrong = |span| Error::new(span, "a version is a literal from 1 to 65535");
    let at: LitInt = input.parse().map_err(|error: Error| wrong(error.span()))?;
    match at.base10_parse() {
        Ok(version) if version > 0 => Ok(version),
        _ => Err(wrong(at.span())),
    }
}

fn number(input: ParseStream<'_>, place: Place) -> Result<Number> {
    let wrong = |span| {
        let message = format!(
            "the number of a {place} is a literal from 1 to {NUMBER_MAX}, because it travels in each message"
        );
        Error::new(span, message)
    };
    let at: LitInt = input.parse().map_err(|error: Error| wrong(error.span()))?;
    match at.base10_parse() {
        Ok(value) if (1..=NUMBER_MAX).contains(&value) => Ok(Number { value, at }),
        _ => Err(wrong(at.span())),
    }
}
