//! Detection of `impl` blocks that cannot be actors, and of methods that cannot handle messages.

use quote::ToTokens;
use syn::{
    FnArg, GenericParam, Ident, ImplItemFn, ItemImpl, PatType, Path, Receiver, ReturnType,
    Signature, Type, TypePath,
};

use crate::dialect::Dialect;
use crate::errors::Errors;
use crate::names;
use crate::options::{Duty, Mark};
use crate::types;

const OWNS: &str = "an actor cannot borrow data, because it can outlive the code that creates it; store owned data, \
                    or share data in an `Arc`";

/// The kind of a method, described as in error messages.
#[derive(Clone, Copy)]
struct Of {
    /// Description of the method in an error message.
    what: &'static str,
    dialect: Dialect,
    /// True if the method only converts a duty of a durable actor into a message. Such a method
    /// cannot be excluded from the actor, because the actor then fails at its first duty.
    converts: bool,
}

impl Of {
    /// Returns the description of methods that handle a message.
    fn message(dialect: Dialect) -> Self {
        Self {
            what: "a method that handles a message",
            dialect,
            converts: false,
        }
    }

    /// The kind of the method that is called at the start of an actor.
    const START: Self = Self {
        what: "the method marked `#[actor(started)]`",
        dialect: Dialect::Actor,
        converts: false,
    };

    /// The kind of the method that changes the state of a durable actor.
    const APPLY: Self = Self {
        what: "the method marked `#[durable(apply)]`",
        dialect: Dialect::Durable,
        converts: false,
    };

    /// Returns the kind of the function that converts duties of a durable actor into messages.
    fn conversion(duty: Duty) -> Self {
        let what = match duty {
            Duty::Due => "the function marked `#[durable(due)]`",
            Duty::Letter => "the function marked `#[durable(letter)]`",
        };
        Self {
            what,
            dialect: Dialect::Durable,
            converts: true,
        }
    }

    /// Returns the end of an error message: the advice to exclude the method from the actor, if
    /// that helps.
    fn or_skip(self) -> String {
        if self.converts {
            String::new()
        } else {
            format!(", {}", self.dialect.or_skip())
        }
    }
}

/// Returns the type of the `impl` block, and the last segment of the path of this type. Returns
/// `None` if the block cannot be an actor.
pub(crate) fn block(
    item: &ItemImpl,
    dialect: Dialect,
    errors: &mut Errors,
) -> Option<(TypePath, Ident)> {
    let mut found = Errors::default();
    if let Some((_, of, _)) = &item.trait_ {
        of_trait(of, dialect, &mut found);
    }
    for lifetime in item.generics.lifetimes() {
        found.at(lifetime, OWNS);
    }
    let actor = named_type(item, dialect, &mut found);
    if errors.append(found) { None } else { actor }
}

fn of_trait(path: &Path, dialect: Dialect, errors: &mut Errors) {
    let name = dialect.name();
    errors.at(
        path,
        format!(
            "`#[{name}]` cannot be used on the implementation of a trait; use it on an inherent `impl` block, \
             whose methods can call the methods of the trait"
        ),
    );
}

fn named_type(item: &ItemImpl, dialect: Dialect, errors: &mut Errors) -> Option<(TypePath, Ident)> {
    if let Type::Path(ty) = types::bare(&item.self_ty)
        && ty.qself.is_none()
        && let Some(last) = ty.path.segments.last()
    {
        // A lifetime of the block has already been reported.
        let is_reported = item.generics.lifetimes().next().is_some();
        if !is_reported && !types::unsendable(&item.self_ty, "an actor").is_empty() {
            errors.at(ty, OWNS);
        }
        return Some((ty.clone(), last.ident.clone()));
    }
    let name = dialect.name();
    errors.at(
        &item.self_ty,
        format!("`#[{name}]` can only be used on an `impl` block of a struct or an enum"),
    );
    None
}

/// Returns all reasons why `method` cannot handle a message.
pub(crate) fn message(method: &ImplItemFn, dialect: Dialect) -> Errors {
    let mut errors = Errors::default();
    let of = Of::message(dialect);
    qualifiers(&method.sig, of, &mut errors);
    generics(&method.sig, of, &mut errors);
    if let Some(receiver) = method.sig.receiver() {
        by_reference(receiver, of, &mut errors);
        if dialect == Dialect::Durable {
            unchanging(receiver, &mut errors);
        }
    }
    for argument in typed_arguments(&method.sig) {
        unconditional(argument, &mut errors);
        if !types::is_context(&argument.ty) {
            for error in types::unsendable(&argument.ty, "an argument of a message") {
                errors.push(error);
            }
        }
    }
    answer(&method.sig, of, &mut errors);
    errors
}

/// Returns all arguments of a method except `self`.
pub(crate) fn typed_arguments(signature: &Signature) -> impl Iterator<Item = &PatType> {
    signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    })
}

fn qualifiers(signature: &Signature, of: Of, errors: &mut Errors) {
    let mut refuse = |culprit: &dyn ToTokens, what: &str, instead: &str| {
        let message = format!("{} cannot be {what}; {instead}{}", of.what, of.or_skip());
        errors.at(culprit, message);
    };
    if let Some(asyncness) = &signature.asyncness {
        let instead = if of.converts {
            "remove `async`"
        } else {
            "to receive an answer as a message, call the `_to` method of a handle"
        };
        refuse(asyncness, "`async`, because a turn cannot wait", instead);
    }
    if let Some(constness) = &signature.constness {
        refuse(constness, "`const`", "remove `const`");
    }
    if let Some(unsafety) = &signature.unsafety {
        refuse(
            unsafety,
            "`unsafe`, because the runtime calls it from safe code",
            "remove `unsafe`",
        );
    }
    if let Some(abi) = &signature.abi {
        refuse(abi, "`extern`", "remove `extern`");
    }
}

fn generics(signature: &Signature, of: Of, errors: &mut Errors) {
    let (or_skip, converts) = (of.or_skip(), of.converts);
    let of = of.what;
    for parameter in &signature.generics.params {
        let what = match parameter {
            GenericParam::Lifetime(_) => {
                "lifetime parameters; remove them, so that the compiler infers the lifetimes"
            }
            GenericParam::Type(_) | GenericParam::Const(_) if converts => {
                "generic parameters; write the types"
            }
            GenericParam::Type(_) | GenericParam::Const(_) => {
                "generic parameters, because all messages of an actor have one type; move them to the `impl` block"
            }
        };
        let message = format!("{of} cannot have {what}{or_skip}");
        errors.at(parameter, message);
    }
    if let Some(clause) = &signature.generics.where_clause {
        let message =
            format!("{of} cannot have a `where` clause; move it to the `impl` block{or_skip}");
        errors.at(clause, message);
    }
}

fn by_reference(receiver: &Receiver, of: Of, errors: &mut Errors) {
    if receiver.reference.is_none() || receiver.colon_token.is_some() {
        let (what, receivers, or_skip) = (of.what, of.dialect.receivers(), of.dialect.or_skip());
        let message = format!(
            "{what} must take {receivers}, because the actor continues after the call; return \
             `Next::Stop` to stop the actor, {or_skip}"
        );
        errors.at(receiver, message);
    }
}

/// Reports an error if the receiver is `&mut self`, because a method with `&mut self` could change
/// the state of a durable actor.
fn unchanging(receiver: &Receiver, errors: &mut Errors) {
    if receiver.reference.is_some() && receiver.mutability.is_some() {
        let or_skip = Dialect::Durable.or_skip();
        let message = format!(
            "a method that handles a message of a durable actor must take `&self`: the state changes only in the \
             method marked `#[durable(apply)]`; record an event with `cx.record(..)`, {or_skip}"
        );
        errors.at(receiver, message);
    }
}

fn unconditional(argument: &PatType, errors: &mut Errors) {
    for attribute in &argument.attrs {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            errors.at(
                attribute,
                "an argument of a message cannot be conditional; write two versions of the method, each with its \
                 own `#[cfg]`",
            );
        }
    }
}

/// Checks that the method has at most one context and at most one reply. A method with a reply must
/// not also return an answer.
fn answer(signature: &Signature, of: Of, errors: &mut Errors) {
    let of = of.what;
    let at_most_one = |errors: &mut Errors, is: fn(&Type) -> bool, what: &str| {
        for second in typed_arguments(signature).filter(|a| is(&a.ty)).skip(1) {
            errors.at(second, format!("{of} can take at most one {what}"));
        }
    };
    at_most_one(errors, types::is_context, "`Context`");
    at_most_one(errors, is_reply, "`Reply`");
    let replies = typed_arguments(signature).any(|argument| is_reply(&argument.ty));
    let types::Returned::Answer(returned) = types::Returned::of(&signature.output) else {
        return;
    };
    if replies {
        errors.at(
            returned,
            "a method that takes a `Reply` must return nothing, `Next` or `Result<Next, _>`",
        );
        return;
    }
    for error in types::unsendable(&returned, "an answer") {
        errors.push(error);
    }
}

fn is_reply(ty: &Type) -> bool {
    types::answer_of_reply(ty).is_some()
}

/// Returns all reasons why `method` cannot be called at the start of the actor.
pub(crate) fn started(method: &ImplItemFn) -> Errors {
    let mut errors = Errors::default();
    let of = Of::START.what;
    qualifiers(&method.sig, Of::START, &mut errors);
    generics(&method.sig, Of::START, &mut errors);
    match method.sig.receiver() {
        Some(receiver) => by_reference(receiver, Of::START, &mut errors),
        None => errors.at(
            &method.sig.ident,
            format!("{of} must take `&mut self` or `&self`"),
        ),
    }
    let arguments = typed_arguments(&method.sig).enumerate();
    for (index, argument) in arguments {
        if index > 0 || !types::is_context(&argument.ty) {
            errors.at(
                argument,
                format!("{of} can take no argument except one `&mut Context<'_, _>`"),
            );
        }
    }
    if let types::Returned::Answer(returned) = types::Returned::of(&method.sig.output) {
        errors.at(
            returned,
            format!("{of} must return nothing, `Next` or `Result<Next, _>`"),
        );
    }
    errors
}

/// Returns the type of the events that `method` applies to the state, or `None` if `method` cannot
/// apply events.
pub(crate) fn apply<'a>(method: &'a ImplItemFn, errors: &mut Errors) -> Option<&'a Type> {
    let (of, mut found) = (Of::APPLY.what, Errors::default());
    qualifiers(&method.sig, Of::APPLY, &mut found);
    generics(&method.sig, Of::APPLY, &mut found);
    let receiver = method.sig.receiver();
    if !receiver.is_some_and(|r| r.reference.is_some() && r.mutability.is_some()) {
        let message = format!("{of} must take `&mut self`, which is the state");
        match receiver {
            Some(receiver) => found.at(receiver, message),
            None => found.at(&method.sig.ident, message),
        }
    }
    let mut arguments = typed_arguments(&method.sig);
    let event = arguments.next().map(|event| types::bare(&event.ty));
    let event = match event {
        Some(Type::Reference(event)) if event.mutability.is_none() => Some(&*event.elem),
        Some(other) => {
            let message =
                format!("{of} must take the event as a shared reference, such as `&Event`");
            found.at(other, message);
            None
        }
        None => {
            let message = format!(
                "{of} must take an event, such as `event: &Event`; this argument tells the type of the events"
            );
            found.at(&method.sig.ident, message);
            None
        }
    };
    for more in arguments {
        let message = format!(
            "{of} can take no argument except the event, because its result must depend on nothing else"
        );
        found.at(more, message);
    }
    if let ReturnType::Type(_, returned) = &method.sig.output
        && !matches!(
            types::Returned::of(&method.sig.output),
            types::Returned::Nothing
        )
    {
        let message =
            format!("{of} must return nothing: the event is a fact; decide before you record it");
        found.at(returned, message);
    }
    if errors.append(found) { None } else { event }
}

/// Returns the type of the argument and the return type of `function`, or `None` if `function`
/// cannot convert duties into messages. `message` is the name of the message type.
pub(crate) fn conversion<'a>(
    function: &'a ImplItemFn,
    duty: Duty,
    message: &Ident,
    errors: &mut Errors,
) -> Option<(&'a Type, &'a Type)> {
    let (of, mut found) = (Of::conversion(duty), Errors::default());
    let (what, name, ty) = (of.what, duty.name(), duty.type_name());
    let signature = &function.sig;
    if let Some(receiver) = signature.receiver() {
        // Probably a method that handles the duty. One error says all that has to change.
        let text = format!(
            "{what} cannot take `self`, because it only converts, such as `fn {name}({name}: {ty}) -> \
             Option<{message}>`; handle the message in another method"
        );
        errors.at(receiver, text);
        return None;
    }
    qualifiers(signature, of, &mut found);
    generics(signature, of, &mut found);
    let must_take = format!("{what} must take a `{ty}` by value, and no other argument");
    let mut arguments = typed_arguments(signature);
    let argument = arguments.next().map(|argument| &*argument.ty);
    match argument.map(types::bare) {
        Some(Type::Reference(reference)) => found.at(reference, &must_take),
        Some(_) => {}
        None => found.at(&signature.ident, &must_take),
    }
    for more in arguments {
        found.at(more, &must_take);
    }
    let must_return = format!(
        "{what} must return an `Option<{message}>`: the message for the `{ty}`, or `None`, which makes the actor fail"
    );
    let returned = match &signature.output {
        ReturnType::Type(_, returned) if types::is_option(returned) => Some(&**returned),
        ReturnType::Type(_, returned) => {
            found.at(returned, must_return);
            None
        }
        ReturnType::Default => {
            found.at(&signature.ident, must_return);
            None
        }
    };
    if errors.append(found) {
        return None;
    }
    argument.zip(returned)
}

/// Reports an error for each unmarked function that could convert duties into messages, if no
/// function is marked for these duties. The runtime would never call such a function.
pub(crate) fn unmarked<'a>(
    methods: impl Iterator<Item = &'a ImplItemFn>,
    marks: &[Option<Mark>],
    message: &Ident,
    errors: &mut Errors,
) {
    for function in methods {
        let duty = duty_of(&function.sig, message);
        let Some(duty) = duty.filter(|duty| !marks.contains(&Some(Mark::Convert(*duty)))) else {
            continue;
        };
        let (name, ty) = (duty.name(), duty.type_name());
        let text = format!(
            "the function that converts a `{ty}` into a message must be marked `#[durable({name})]`; if the runtime \
             must not call this function, mark it `#[durable(skip)]`"
        );
        errors.at(&function.sig.ident, text);
    }
}

/// Returns the kind of duties that a function with this signature can convert into messages.
/// `message` is the name of the message type.
fn duty_of(signature: &Signature, message: &Ident) -> Option<Duty> {
    let ReturnType::Type(_, returned) = &signature.output else {
        return None;
    };
    let converted = types::argument_of(returned, "Option")?;
    if signature.receiver().is_some() || !types::is_named(converted, &message.to_string()) {
        return None;
    }
    let mut arguments = typed_arguments(signature);
    let (Some(argument), None) = (arguments.next(), arguments.next()) else {
        return None;
    };
    let takes = |duty: &Duty| types::is_named(&argument.ty, duty.type_name());
    [Duty::Due, Duty::Letter].into_iter().find(takes)
}

/// A name that is reserved for a generated item.
pub(crate) struct Taken {
    /// Name of the generated variant, or of the generated method of the handle.
    pub(crate) name: Ident,
    /// Description of the item's kind in an error message.
    pub(crate) kind: &'static str,
    /// Method from which the item is generated.
    pub(crate) method: Ident,
    /// True if the method has a `cfg` that may remove it.
    pub(crate) conditional: bool,
}

/// Returns true if the name `new` does not collide with the names `others`. Otherwise reports an
/// error.
///
/// Two items that each depend on a `cfg` are not compared, because their conditions may exclude
/// each other. If two colliding items are both present, rustc reports the collision.
pub(crate) fn name(new: &Taken, others: &[Taken], dialect: Dialect, errors: &mut Errors) -> bool {
    let or_skip = dialect.or_skip();
    let rival = others.iter().find(|other| {
        other.kind == new.kind && other.name == new.name && !(other.conditional && new.conditional)
    });
    if let Some(rival) = rival {
        let message = format!(
            "the methods `{}` and `{}` would both generate the {} `{}`; rename one of them, {or_skip}",
            rival.method, new.method, new.kind, new.name
        );
        errors.at(&new.method, message);
    }
    rival.is_none()
}

/// Returns true if the generated handle can have a method with the name `method`. Otherwise reports
/// an error.
pub(crate) fn free_on_handle(method: &Ident, dialect: Dialect, errors: &mut Errors) -> bool {
    let or_skip = dialect.or_skip();
    let taken = names::is_of_handles(method);
    if taken {
        let message =
            format!("every handle already has a method `{method}`; rename this method, {or_skip}");
        errors.at(method, message);
    }
    !taken
}
