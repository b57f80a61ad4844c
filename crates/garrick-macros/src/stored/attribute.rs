//! The attributes `#[stored(..)]` of a variant or a struct.

use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, LitInt, Path, Result, Token, parenthesized};

use crate::errors::Errors;

const OPTIONS: &str =
    "`tag = 1`, `version = 2`, `upcast(1 = function)` and, on the type itself, `crate = path`";

/// The largest tag that a program may use. Garrick uses larger tags for its own events.
const TAG_MAX: u16 = 0xFEFF;

/// A number in an attribute, with its position.
pub(super) struct Number {
    pub(super) value: u16,
    pub(super) at: LitInt,
}

/// A conversion of an older version of an event into the current version.
pub(super) struct Older {
    pub(super) version: Number,
    /// The function that converts the fields of the older version.
    pub(super) convert: Path,
}

/// The options in the attributes `#[stored(..)]` of a variant, a struct or an enum.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) tag: Option<Number>,
    pub(super) version: Option<Number>,
    pub(super) upcasts: Vec<Older>,
    /// Path of the module that contains the trait `Stored`, if given.
    pub(super) krate: Option<Path>,
}

impl Attributes {
    /// Reads the attributes `#[stored(..)]` among `attributes`. Returns the options, and true if
    /// there was no error.
    pub(super) fn read(attributes: &[Attribute], errors: &mut Errors) -> (Self, bool) {
        let (mut read, mut is_right) = (Self::default(), true);
        for attribute in attributes.iter().filter(|a| a.path().is_ident("stored")) {
            if let Err(error) = attribute.parse_nested_meta(|meta| read.option(&meta)) {
                errors.push(error);
                is_right = false;
            }
        }
        (read, is_right)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string);
        match key.as_deref() {
            Some("tag") => once(&mut self.tag, number(meta.value()?, "tag")?, meta),
            Some("version") => {
                let version = number(meta.value()?, "version")?;
                once(&mut self.version, version, meta)
            }
            Some("crate") => {
                let path = meta.value()?.call(Path::parse_mod_style)?;
                once(&mut self.krate, path, meta)
            }
            Some("upcast") => {
                let content;
                parenthesized!(content in meta.input);
                let upcasts = Punctuated::<_, Token![,]>::parse_terminated_with(&content, older)?;
                self.upcasts.extend(upcasts);
                Ok(())
            }
            _ => Err(meta.error(format!("the options are {OPTIONS}"))),
        }
    }
}

fn older(input: ParseStream<'_>) -> Result<Older> {
    let version = number(input, "version")?;
    input.parse::<Token![=]>()?;
    let convert = input.parse()?;
    Ok(Older { version, convert })
}

fn once<T>(place: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("this option is given twice")),
    }
}

/// Parses the number that is the value of the option `key`.
fn number(input: ParseStream<'_>, key: &str) -> Result<Number> {
    let largest = if key == "tag" { TAG_MAX } else { u16::MAX };
    let wrong = |span| {
        let message = format!(
            "a {key} is a literal from 0 to {largest}, because it stays in the log forever"
        );
        Error::new(span, message)
    };
    let at: LitInt = input.parse().map_err(|error: Error| wrong(error.span()))?;
    let value = at
        .base10_parse()
        .map_err(|error: Error| wrong(error.span()))?;
    if value > largest {
        return Err(wrong(at.span()));
    }
    Ok(Number { value, at })
}
