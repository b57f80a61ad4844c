//! The options of an `impl` block and the marks of its methods. Both are arguments of the attribute
//! `#[actor(..)]` or `#[durable(..)]`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, Ident, LitStr, Path, Result, Token, Visibility, parenthesized,
    parse_quote,
};

use crate::attributes;
use crate::dialect::Dialect;
use crate::errors::Errors;

const OPTIONS: &str = "a visibility such as `pub(crate)`, `name = \"...\"`, `handle = Name`, \
                       `message = Name`, `derive(Trait, ...)` and `crate = path`";

/// The end of a list of options in an error message: the options that only a durable actor has.
const OF_DURABLE: &str = ", and, for a state that is saved, `save` or `save = 1_000`";

fn marks(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Actor => {
            "`#[actor(skip)]` if it handles no message, or `#[actor(started)]` if it is called once, before the first \
             message"
        }
        Dialect::Durable => {
            "`#[durable(skip)]` if it handles no message, `#[durable(apply)]` if it changes the state by an event, \
             `#[durable(due)]` if it converts a due effect or reminder into a message, or `#[durable(letter)]` if it \
             converts a letter into a message"
        }
    }
}

/// The options of an attribute on an `impl` block.
#[derive(Default)]
pub(crate) struct Options {
    /// Visibility of the message type and the handle type, if given.
    pub(crate) visibility: Option<Visibility>,
    /// Name by which reports refer to the actor, if given.
    pub(crate) name: Option<LitStr>,
    /// Name of the handle type, if given.
    pub(crate) handle: Option<Ident>,
    /// Name of the message type, if given.
    pub(crate) message: Option<Ident>,
    /// Traits that the message type derives.
    pub(crate) derives: Vec<Path>,
    /// The option `save` of a durable actor, if given.
    pub(crate) save: Option<Save>,
    /// Path of the crate that contains the actor types, if given.
    krate: Option<Path>,
    dialect: Dialect,
}

/// The option `save`, which saves the state of a durable actor.
pub(crate) struct Save {
    /// The word `save` as written in the attribute, with its span.
    pub(crate) word: Ident,
    /// Number of events after which the state is saved, if given.
    pub(crate) every: Option<Expr>,
}

impl ToTokens for Save {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.word.to_tokens(tokens);
    }
}

impl Options {
    /// Returns the default options for the attribute `dialect`.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            ..Self::default()
        }
    }

    /// Parses the options of the attribute on an `impl` block.
    pub(crate) fn parse(options: TokenStream, dialect: Dialect) -> Result<Self> {
        let parse = |input: ParseStream<'_>| Self::of(dialect, input);
        parse.parse2(options)
    }

    fn of(dialect: Dialect, input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::new(dialect);
        while !input.is_empty() {
            options.parse_one(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }

    /// Returns the kind of the attribute on the `impl` block: `Actor` or `Durable`.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the path of the crate that contains the actor types. The default is the crate
    /// `garrick`.
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
            "save" if self.dialect == Dialect::Durable => self.parse_save(input, key),
            _ => Err(self.unknown(&key)),
        }
    }

    fn parse_save(&mut self, input: ParseStream<'_>, word: Ident) -> Result<()> {
        let every = input.peek(Token![=]).then(|| value(input)).transpose()?;
        once(&mut self.save, Save { word, every }, &"save")
    }

    fn unknown(&self, key: &Ident) -> Error {
        let name = self.dialect.name();
        let more = match self.dialect {
            Dialect::Actor => "",
            Dialect::Durable => OF_DURABLE,
        };
        let mut message =
            format!("`#[{name}]` has no option `{key}`; the options are {OPTIONS}{more}");
        if key == "event" && self.dialect == Dialect::Durable {
            message.push_str(
                ". The type of the events is that of the argument of the method marked `#[durable(apply)]`",
            );
        }
        Error::new_spanned(key, message)
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
fn once<T: ToTokens>(place: &mut Option<T>, value: T, key: &impl ToString) -> Result<()> {
    if place.is_some() {
        let message = format!("the option `{}` is given twice", key.to_string());
        return Err(Error::new_spanned(value, message));
    }
    *place = Some(value);
    Ok(())
}

/// The role of a method that handles no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A method that is not part of the actor: the attribute ignores it.
    Skip,
    /// The method that is called once, before the actor handles its first message.
    Started,
    /// The method that changes the state of a durable actor.
    Apply,
    /// The function that converts duties of a durable actor into messages.
    Convert(Duty),
}

/// The kind of the duties of a durable actor that a function converts into messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// A due effect or reminder.
    Due,
    /// A letter to another durable actor.
    Letter,
}

impl Duty {
    /// Returns the name of the mark, which is also the name of the function of `DurableActor`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Letter => "letter",
        }
    }

    /// Returns the name of the type of the duty in the module `journal`.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Due => "Due",
            Self::Letter => "Letter",
        }
    }
}

impl Mark {
    fn parse(attribute: &Attribute, dialect: Dialect) -> Result<Self> {
        let mark: Option<Ident> = attribute.parse_args_with(Ident::parse_any).ok();
        match mark {
            Some(mark) if mark == "skip" => Ok(Self::Skip),
            Some(mark) if mark == "started" && dialect == Dialect::Actor => Ok(Self::Started),
            Some(mark) if mark == "apply" && dialect == Dialect::Durable => Ok(Self::Apply),
            Some(mark) if mark == "due" && dialect == Dialect::Durable => {
                Ok(Self::Convert(Duty::Due))
            }
            Some(mark) if mark == "letter" && dialect == Dialect::Durable => {
                Ok(Self::Convert(Duty::Letter))
            }
            _ => Err(Error::new_spanned(
                attribute,
                format!("a method can be marked {}", marks(dialect)),
            )),
        }
    }

    /// Removes all marks, such as `#[actor(skip)]`, from `attributes`, and returns the last mark.
    /// An invalid mark counts as `skip`, so that it causes only one error.
    pub(crate) fn take(
        attributes: &mut Vec<Attribute>,
        dialect: Dialect,
        errors: &mut Errors,
    ) -> Option<Self> {
        let (mut taken, name) = (None, dialect.name());
        for attribute in attributes.extract_if(.., |a| attributes::is_mark(a.path(), dialect)) {
            if taken.is_some() {
                let message = format!("a method can have at most one `#[{name}(..)]` mark");
                errors.at(&attribute, message);
            }
            taken = Some(Self::parse(&attribute, dialect).unwrap_or_else(|error| {
                errors.push(error);
                Self::Skip
            }));
        }
        let other = dialect.other();
        for attribute in attributes.extract_if(.., |a| attributes::is_mark(a.path(), other)) {
            let (marks, other) = (marks(dialect), other.name());
            let message = format!(
                "`#[{other}(..)]` is no mark of a block with `#[{name}]`; a method can be marked {marks}"
            );
            errors.at(&attribute, message);
            taken = Some(Self::Skip);
        }
        let is_conditional = |a: &mut Attribute| attributes::is_conditional_mark(a, dialect);
        for attribute in attributes.extract_if(.., is_conditional) {
            let message = format!(
                "an `#[{name}(..)]` mark cannot be conditional; write two versions of the method, each with its own \
                 `#[cfg]`"
            );
            errors.at(&attribute, message);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn parsed(options: &str, dialect: Dialect) -> Result<Options> {
        Options::parse(options.parse()?, dialect)
    }

    fn error(options: &str) -> String {
        match parsed(options, Dialect::Actor) {
            Ok(_) => panic!("`{options}` was accepted"),
            Err(error) => error.to_string(),
        }
    }

    fn krate(options: &Options) -> String {
        options.krate().to_token_stream().to_string()
    }

    #[test]
    fn options_are_read() {
        let options = quote!(
            pub(crate), name = "n", handle = H, message = M, crate = ::a::b, derive(Clone, a::B),
        );
        let options = Options::parse(options, Dialect::Actor).unwrap();
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
        let options = parsed("crate = crate", Dialect::Actor).unwrap();
        assert_eq!(krate(&options), "crate");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(error("color = 1").contains("has no option `color`"));
        assert!(error("name = \"a\", name = \"b\"").contains("given twice"));
        assert!(error("pub, pub(crate)").contains("given twice"));
        assert!(error("handle = H message = M").contains("`,`"));
        assert!(error("name = name").contains("string"));
        assert!(error("save").contains("has no option `save`"));
    }

    #[test]
    fn a_durable_actor_saves_its_state() {
        let save = |options| parsed(options, Dialect::Durable).map(|o| o.save.unwrap().every);
        assert!(save("save").unwrap().is_none());
        let every = save("pub, save = EVERY * 2").unwrap();
        assert_eq!(every.to_token_stream().to_string(), "EVERY * 2");
        let wrong = |options| parsed(options, Dialect::Durable).err().unwrap().to_string();
        assert!(wrong("save, save = 2").contains("given twice"));
        assert!(wrong("event = Event").contains("The type of the events"));
    }

    #[test]
    fn marks_are_taken() {
        let mut errors = Errors::default();
        let mut attributes: Vec<Attribute> = parse_quote!(#[inline] #[garrick::actor(started)]);
        assert_eq!(
            Mark::take(&mut attributes, Dialect::Actor, &mut errors),
            Some(Mark::Started)
        );
        assert_eq!(attributes.len(), 1);
        assert_eq!(
            Mark::take(&mut attributes, Dialect::Actor, &mut errors),
            None
        );
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
        let _ = Mark::take(&mut attributes, Dialect::Actor, &mut errors);
        assert_eq!(errors.messages().len(), 3);
    }

    #[test]
    fn each_dialect_has_its_marks() {
        let mut errors = Errors::default();
        let mut take = |mut attributes: Vec<Attribute>| {
            Mark::take(&mut attributes, Dialect::Durable, &mut errors)
        };
        assert_eq!(take(parse_quote!(#[durable(apply)])), Some(Mark::Apply));
        let converts = |duty| Some(Mark::Convert(duty));
        assert_eq!(take(parse_quote!(#[durable(due)])), converts(Duty::Due));
        let letter = take(parse_quote!(#[durable(letter)]));
        assert_eq!(letter, converts(Duty::Letter));
        assert_eq!(take(parse_quote!(#[durable(skip)])), Some(Mark::Skip));
        assert_eq!(take(parse_quote!(#[durable(started)])), Some(Mark::Skip));
        assert_eq!(take(parse_quote!(#[actor(skip)])), Some(Mark::Skip));
        let messages = errors.messages();
        assert!(messages[0].starts_with("a method can be marked `#[durable(skip)]`"));
        assert!(messages[1].starts_with("`#[actor(..)]` is no mark of a block with `#[durable]`"));
        assert_eq!(messages.len(), 2);
    }
}
