//! Parsing of an `impl` block into the messages and the other properties of an actor.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Generics, Ident, ImplItem, ImplItemFn, ItemImpl, LitStr, Pat, PatType, Path, Type,
    TypePath, Visibility, parse_quote,
};

use crate::attributes;
use crate::check::{self, Taken};
use crate::dialect::Dialect;
use crate::errors::Errors;
use crate::names;
use crate::options::{Duty, Mark, Options, Save};
use crate::types::{self, Named, Returned};

/// The parsed `impl` block of an actor.
pub(crate) struct Block {
    /// Path of the crate that contains the actor types.
    pub(crate) krate: Path,
    /// Attributes of the `impl` block.
    pub(crate) attributes: Vec<Attribute>,
    /// Visibility of the message type and the handle type.
    pub(crate) visibility: Visibility,
    /// Type that the `impl` block turns into an actor.
    pub(crate) actor: TypePath,
    /// Last segment of the path of the actor's type, such as `Counter`.
    pub(crate) ident: Ident,
    /// Generic parameters of the `impl` block with their bounds, in which `Self` is replaced by the
    /// actor's type.
    pub(crate) generics: Generics,
    /// Name of the message type.
    pub(crate) message: Ident,
    /// Name of the handle type.
    pub(crate) handle: Ident,
    /// Name of the actor in reports, if given.
    pub(crate) name: Option<LitStr>,
    /// Traits that the message type derives.
    pub(crate) derives: Vec<Path>,
    /// The messages of the actor, in the order of the methods that handle them.
    pub(crate) messages: Vec<Message>,
    /// Methods that cannot handle a message. Does not contain methods whose generated names are
    /// already in use.
    pub(crate) rejected: Vec<Rejected>,
    /// The method that is called before the first message, if there is one. Several methods if each
    /// of them has a `cfg` that may remove it.
    pub(crate) started: Vec<Started>,
    /// The method that changes the state of a durable actor, if there is one.
    pub(crate) apply: Option<Apply>,
    /// The functions that convert duties of a durable actor into messages.
    pub(crate) conversions: Vec<Conversion>,
    /// The option that saves the state of a durable actor, if given.
    pub(crate) save: Option<Save>,
}

/// A message and the method that handles it.
pub(crate) struct Message {
    /// Attributes of the method that handles the message.
    pub(crate) attributes: Vec<Attribute>,
    /// Visibility of the method that handles the message.
    pub(crate) visibility: Visibility,
    /// Name of the method that handles the message.
    pub(crate) method: Ident,
    /// Name of the message's variant.
    pub(crate) variant: Ident,
    /// Arguments of the method that handles the message, in order.
    pub(crate) arguments: Vec<Argument>,
    /// Type of the answer, if the message is an ask.
    pub(crate) answer: Option<Type>,
    /// Return type of the method that handles the message.
    pub(crate) returned: Returned,
}

/// A method that cannot handle a message. An error about this method has already been reported.
pub(crate) struct Rejected {
    /// The message that the method would handle if the method had no error.
    pub(crate) message: Message,
    /// Generic parameters of the method that cannot handle the message.
    pub(crate) generics: Generics,
}

/// An argument of a method that handles a message.
pub(crate) enum Argument {
    /// An argument that is a field of the message.
    Field(Box<Field>),
    /// An argument that is the context of the turn, with the span of the argument.
    Context(Span),
    /// An argument that is a `Reply`, with the span of the argument.
    Reply(Span),
}

/// A field of a message.
pub(crate) struct Field {
    /// Name of the field as an argument of the handle's method.
    pub(crate) name: Ident,
    /// Type of the field, with `Self` replaced by the actor's type.
    pub(crate) ty: Type,
}

/// The method that is called before the first message.
pub(crate) struct Started {
    /// Attributes of the method that is called before the first message.
    pub(crate) attributes: Vec<Attribute>,
    /// Name of the method that is called before the first message.
    pub(crate) method: Ident,
    /// Span of the context argument, if the method takes a context.
    pub(crate) context: Option<Span>,
    /// Return type of the method that is called before the first message.
    pub(crate) returned: Returned,
}

/// The method that changes the state of a durable actor.
pub(crate) struct Apply {
    /// Name of the method that applies an event to the state.
    pub(crate) method: Ident,
    /// Type of the events of the durable actor, with `Self` replaced by the actor's type.
    pub(crate) event: Type,
}

/// A function that converts duties of a durable actor into messages.
pub(crate) struct Conversion {
    /// The kind of the duties.
    pub(crate) duty: Duty,
    /// Attributes of the function that converts the duties.
    pub(crate) attributes: Vec<Attribute>,
    /// Name of the function that converts the duties.
    pub(crate) function: Ident,
    /// Span of the argument's type.
    pub(crate) argument: Span,
    /// Span of the return type.
    pub(crate) returned: Span,
}

/// Parses `item` and removes the attributes that only this macro uses. Omits methods that cannot
/// handle a message. Returns `None` if the `impl` block cannot be an actor.
pub(crate) fn block(options: Options, item: &mut ItemImpl, errors: &mut Errors) -> Option<Block> {
    let dialect = options.dialect();
    let marks = take_marks(item, dialect, errors);
    let (actor, ident) = check::block(item, dialect, errors)?;
    if dialect == Dialect::Durable && !marks.contains(&Some(Mark::Apply)) {
        let message = "a durable actor has a method that changes its state by an event; mark it `#[durable(apply)]`, \
                       such as `#[durable(apply)] fn apply(&mut self, event: &Event)`";
        errors.at(&item.self_ty, message);
    }
    let named = |name: Option<Ident>, end: &str| {
        name.unwrap_or_else(|| Ident::new(&format!("{}{end}", ident.unraw()), ident.span()))
    };
    let message = named(options.message.clone(), "Msg");
    if dialect == Dialect::Durable {
        let unmarked = methods(item).zip(&marks).filter(|(_, mark)| mark.is_none());
        check::unmarked(
            unmarked.map(|(method, _)| &*method),
            &marks,
            &message,
            errors,
        );
    }
    let mut reader = Reader::new(&actor, &message, dialect, errors);
    for (method, mark) in methods(item).zip(marks) {
        reader.read(method, mark);
    }
    let (messages, started, apply) = (reader.messages, reader.started, reader.apply);
    let (rejected, conversions) = (reader.rejected, reader.conversions);
    let mut generics = item.generics.clone();
    Named(&actor).visit_generics_mut(&mut generics);
    Some(Block {
        krate: options.krate(),
        attributes: item.attrs.clone(),
        visibility: options
            .visibility
            .unwrap_or_else(|| widest(messages.iter().map(|message| &message.visibility))),
        message,
        handle: named(options.handle, "Handle"),
        name: options.name,
        derives: options.derives,
        actor,
        ident,
        generics,
        messages,
        rejected,
        started,
        apply,
        conversions,
        save: options.save,
    })
}

fn methods(item: &mut ItemImpl) -> impl Iterator<Item = &mut ImplItemFn> {
    item.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    })
}

/// Removes the marks, such as `#[actor(skip)]`, from all items, and returns the marks of the
/// methods, in order. Reports an error for each mark on an item that is not a method.
fn take_marks(item: &mut ItemImpl, dialect: Dialect, errors: &mut Errors) -> Vec<Option<Mark>> {
    let name = dialect.name();
    for other in &mut item.items {
        let attributes = match other {
            ImplItem::Const(constant) => &mut constant.attrs,
            ImplItem::Type(ty) => &mut ty.attrs,
            ImplItem::Macro(call) => &mut call.attrs,
            _ => continue,
        };
        for attribute in attributes.extract_if(.., |a| attributes::is_mark(a.path(), dialect)) {
            let message = format!("only a method can be marked `#[{name}(..)]`");
            errors.at(attribute, message);
        }
    }
    methods(item)
        .map(|method| Mark::take(&mut method.attrs, dialect, errors))
        .collect()
}

/// Returns the widest of the visibilities. The comparison uses only the tokens of a visibility, and
/// does not resolve paths.
fn widest<'a>(visibilities: impl Iterator<Item = &'a Visibility>) -> Visibility {
    let width = |visibility: &Visibility| match visibility {
        Visibility::Public(_) => 4,
        Visibility::Restricted(to) if to.path.is_ident("crate") => 3,
        Visibility::Restricted(to) if to.path.is_ident("self") => 0,
        Visibility::Restricted(to) if to.path.is_ident("super") => 1,
        Visibility::Restricted(_) => 2,
        Visibility::Inherited => 0,
    };
    let widest = visibilities.max_by_key(|visibility| width(visibility));
    widest.cloned().unwrap_or(Visibility::Inherited)
}

/// Returns an attribute that allows some lints in the methods that handle messages. These methods
/// need owned arguments and a receiver, and cannot be `const`, so the lints would report
/// unavoidable code.
fn forced() -> Attribute {
    parse_quote! {
        #[allow(
            clippy::needless_pass_by_value,
            clippy::unused_self,
            clippy::missing_const_for_fn
        )]
    }
}

/// Returns an attribute that allows some lints in the functions that convert duties. The signature
/// of these functions is fixed, so the lints would report unavoidable code.
fn forced_of_conversion() -> Attribute {
    parse_quote! {
        #[allow(
            clippy::needless_pass_by_value,
            clippy::unnecessary_wraps,
            clippy::missing_const_for_fn
        )]
    }
}

/// A reader of the methods of an `impl` block.
struct Reader<'a> {
    actor: &'a TypePath,
    /// Name of the message type.
    message: &'a Ident,
    /// Names of the items that are generated for the methods read so far.
    taken: Vec<Taken>,
    messages: Vec<Message>,
    rejected: Vec<Rejected>,
    started: Vec<Started>,
    apply: Option<Apply>,
    /// True if a method was marked `#[durable(apply)]`, even if this method has an error.
    has_apply: bool,
    conversions: Vec<Conversion>,
    /// The kinds of duties for which a function was marked, even if this function has an error. The
    /// second value is true if the function has a `cfg` that may remove it.
    converted: Vec<(Duty, bool)>,
    dialect: Dialect,
    errors: &'a mut Errors,
}

impl<'a> Reader<'a> {
    fn new(
        actor: &'a TypePath,
        message: &'a Ident,
        dialect: Dialect,
        errors: &'a mut Errors,
    ) -> Self {
        Self {
            actor,
            message,
            taken: Vec::new(),
            messages: Vec::new(),
            rejected: Vec::new(),
            started: Vec::new(),
            apply: None,
            has_apply: false,
            conversions: Vec::new(),
            converted: Vec::new(),
            dialect,
            errors,
        }
    }

    fn read(&mut self, method: &mut ImplItemFn, mark: Option<Mark>) {
        match mark {
            Some(Mark::Skip) => {}
            Some(Mark::Started) => self.read_started(method),
            Some(Mark::Apply) => self.read_apply(method),
            Some(Mark::Convert(duty)) => self.read_conversion(method, duty),
            None if method.sig.receiver().is_none() => {}
            None => self.read_message(method),
        }
    }

    fn read_started(&mut self, method: &ImplItemFn) {
        if self.errors.append(check::started(method)) {
            return;
        }
        let conditional = attributes::is_conditional(&method.attrs);
        // Two conditions may exclude each other. If they do not, rustc reports the second method.
        let is_rival =
            |other: &Started| !(conditional && attributes::is_conditional(&other.attributes));
        if self.started.iter().any(is_rival) {
            let message =
                "another method is already marked `#[actor(started)]`; call this method from there";
            self.errors.at(&method.sig.ident, message);
            return;
        }
        let context = check::typed_arguments(&method.sig).next();
        self.started.push(Started {
            attributes: method.attrs.clone(),
            method: method.sig.ident.clone(),
            context: context.map(Spanned::span),
            returned: Returned::of(&method.sig.output),
        });
    }

    fn read_apply(&mut self, method: &ImplItemFn) {
        let event = check::apply(method, self.errors).cloned();
        if self.has_apply {
            let message = "another method is already marked `#[durable(apply)]`; an actor has one type of events, so \
                           make it an enum, and match on it in one method";
            self.errors.at(&method.sig.ident, message);
            return;
        }
        self.has_apply = true;
        self.apply = event.map(|event| Apply {
            method: method.sig.ident.clone(),
            event: self.named(event),
        });
    }

    fn read_conversion(&mut self, function: &mut ImplItemFn, duty: Duty) {
        let types = check::conversion(function, duty, self.message, self.errors);
        let spans = types.map(|(argument, returned)| (argument.span(), returned.span()));
        let conditional = attributes::is_conditional(&function.attrs);
        // Two conditions may exclude each other. If they do not, rustc reports the second function.
        let is_rival = |other: &(Duty, bool)| other.0 == duty && !(other.1 && conditional);
        if self.converted.iter().any(is_rival) {
            let name = duty.name();
            let message = format!(
                "another function is already marked `#[durable({name})]`; make one function of both, which returns a \
                 different message in each case"
            );
            self.errors.at(&function.sig.ident, message);
            return;
        }
        self.converted.push((duty, conditional));
        if let Some((argument, returned)) = spans {
            self.conversions.push(Conversion {
                duty,
                attributes: function.attrs.clone(),
                function: function.sig.ident.clone(),
                argument,
                returned,
            });
            function.attrs.push(forced_of_conversion());
        }
    }

    fn read_message(&mut self, method: &mut ImplItemFn) {
        let bad = self.errors.append(check::message(method, self.dialect));
        let Some(message) = self.message(method) else {
            return;
        };
        if !self.names_are_free(&message) {
            return;
        }
        if bad {
            let generics = method.sig.generics.clone();
            self.rejected.push(Rejected { message, generics });
        } else {
            self.messages.push(message);
            method.attrs.push(forced());
        }
    }

    fn message(&mut self, method: &ImplItemFn) -> Option<Message> {
        let variant = names::variant_of(&method.sig.ident, self.dialect);
        let variant = variant.map_err(|error| self.errors.push(error)).ok()?;
        let mut answer = None;
        let mut arguments = Vec::new();
        for (index, argument) in check::typed_arguments(&method.sig).enumerate() {
            answer = answer.or_else(|| types::answer_of_reply(&argument.ty).cloned());
            arguments.push(self.argument(argument, index));
        }
        let returned = Returned::of(&method.sig.output);
        if let Returned::Answer(ty) = &returned {
            answer = Some(Type::clone(ty));
        }
        Some(Message {
            attributes: method.attrs.clone(),
            visibility: method.vis.clone(),
            method: method.sig.ident.clone(),
            variant,
            arguments,
            answer: answer.map(|ty| self.named(ty)),
            returned,
        })
    }

    fn argument(&self, argument: &PatType, index: usize) -> Argument {
        if types::is_context(&argument.ty) {
            return Argument::Context(argument.span());
        }
        if types::answer_of_reply(&argument.ty).is_some() {
            return Argument::Reply(argument.span());
        }
        let name = match &*argument.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            pattern => {
                let span = Span::mixed_site().located_at(pattern.span());
                Ident::new(&format!("argument_{}", index + 1), span)
            }
        };
        let ty = self.named(Type::clone(&argument.ty));
        Argument::Field(Box::new(Field { name, ty }))
    }

    fn named(&self, mut ty: Type) -> Type {
        Named(self.actor).visit_type_mut(&mut ty);
        ty
    }

    /// Reserves the names of the items generated from `message`. Returns true if none of these
    /// names is already in use.
    fn names_are_free(&mut self, message: &Message) -> bool {
        let conditional = attributes::is_conditional(&message.attributes);
        let taken = |name: Ident, kind| Taken {
            name,
            kind,
            method: message.method.clone(),
            conditional,
        };
        let mut names = vec![
            taken(message.variant.clone(), "variant"),
            taken(message.method.clone(), "handle's method"),
        ];
        if message.answer.is_some() {
            names.push(taken(names::asking_of(&message.method), "handle's method"));
        }
        let mut free = check::free_on_handle(&message.method, self.dialect, self.errors);
        for name in names {
            // One error suffices for two methods of the same name.
            free = free && check::name(&name, &self.taken, self.dialect, self.errors);
            self.taken.push(name);
        }
        free
    }
}

impl Message {
    /// Returns those arguments of the method that are fields of the message.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Field(field) => Some(&**field),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::{ToTokens, quote};

    fn read(item: &mut ItemImpl) -> (Block, Vec<String>) {
        let mut errors = Errors::default();
        let block = block(Options::default(), item, &mut errors);
        (block.unwrap(), errors.messages())
    }

    fn variants(block: &Block) -> Vec<String> {
        let messages = block.messages.iter();
        messages
            .map(|message| message.variant.to_string())
            .collect()
    }

    #[test]
    fn a_block_is_read() {
        let mut item = parse_quote! {
            impl<T: Into<Self>> r#mod::Counter<T> {
                fn new() -> Self {}
                pub(crate) fn get(&self, (a, b): (T, Self), cx: &Context<'_, CounterMsg<T>>) -> Self {}
                #[actor(skip)]
                fn plain(&self) {}
                #[actor(started)]
                fn begin(&mut self) -> Next {}
            }
        };
        let (block, errors) = read(&mut item);
        assert!(errors.is_empty());
        assert_eq!(
            (block.message, block.handle),
            (parse_quote!(CounterMsg), parse_quote!(CounterHandle))
        );
        assert_eq!(block.started[0].method, "begin");
        assert!(matches!(block.visibility, Visibility::Restricted(_)));
        let generics = block.generics.to_token_stream().to_string();
        assert_eq!(generics, quote!(<T: Into<r#mod::Counter<T> > >).to_string());
        let [message] = block.messages.try_into().ok().unwrap();
        assert_eq!(message.fields().count(), 1);
        assert_eq!(message.fields().next().unwrap().name, "argument_1");
        let answer = message.answer.to_token_stream().to_string();
        assert_eq!(answer, quote!(r#mod::Counter<T>).to_string());
        assert!(!item.to_token_stream().to_string().contains("actor"));
    }

    #[test]
    fn what_is_wrong_is_left_out_and_the_rest_stays() {
        let mut item = parse_quote! {
            impl Counter {
                fn add(&mut self, by: &u64) {}
                async fn wait(self) {}
                fn get(&self) -> u64 {}
                fn get_(&self) -> u64 {}
            }
        };
        let (block, errors) = read(&mut item);
        assert_eq!(variants(&block), ["Get"]);
        assert_eq!(errors.len(), 4);
    }

    #[test]
    fn two_under_conditions_may_have_one_name() {
        let mut item = parse_quote! {
            impl Counter {
                #[cfg(unix)]
                fn add(&mut self) {}
                #[cfg_attr(all(), cfg(windows))]
                fn add(&mut self) {}
            }
        };
        let (block, errors) = read(&mut item);
        assert_eq!(variants(&block), ["Add", "Add"]);
        assert!(errors.is_empty());
    }

    #[test]
    fn the_widest_visibility_counts() {
        let widest_of = |all: &[Visibility]| widest(all.iter()).to_token_stream().to_string();
        let (private, outer) = (parse_quote!(), parse_quote!(pub(in crate::a)));
        let (above, all) = (parse_quote!(pub(super)), parse_quote!(pub(crate)));
        assert_eq!(widest_of(&[]), "");
        assert_eq!(widest_of(&[private, above]), "pub (super)");
        assert_eq!(
            widest_of(&[all, outer, Visibility::Inherited]),
            "pub (crate)"
        );
        assert_eq!(
            widest_of(&[parse_quote!(pub), parse_quote!(pub(self))]),
            "pub"
        );
    }
}
