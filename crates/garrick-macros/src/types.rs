//! Recognition of the types in a method's signature by their tokens, without name resolution.
//! `Context`, `Decide`, `Next`, `Option` and `Reply` are recognized by the last segment of their
//! path.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Error, ExprPath, GenericArgument, Lifetime, ParenthesizedGenericArguments, Path, PathArguments,
    PathSegment, QSelf, ReturnType, TraitBound, Type, TypeBareFn, TypeImplTrait, TypePath,
    TypeReference,
};

/// The kind of a method's return type.
pub(crate) enum Returned {
    /// The method returns no value, and the actor continues.
    Nothing,
    /// The method returns a `Next`.
    Next,
    /// The method returns a `Result<Next, _>`, whose error makes the actor fail. Contains the span
    /// of the error's type.
    Fallible(Span),
    /// The method returns an answer of this type.
    Answer(Box<Type>),
}

impl Returned {
    pub(crate) fn of(output: &ReturnType) -> Self {
        let ReturnType::Type(_, ty) = output else {
            return Self::Nothing;
        };
        match bare(ty) {
            Type::Tuple(tuple) if tuple.elems.is_empty() => Self::Nothing,
            // A method that never returns does not have to specify what comes next.
            Type::Never(_) => Self::Next,
            other if is_next(other) => Self::Next,
            other if is_result_of_next(other) => Self::Fallible(span_of_error(other)),
            other => Self::Answer(Box::new(other.clone())),
        }
    }
}

fn is_next(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|last| last.ident == "Next")
}

/// Returns true if `ty` is `Result<Next, _>`.
fn is_result_of_next(ty: &Type) -> bool {
    let Some(last) = last_segment(ty).filter(|last| last.ident == "Result") else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return false;
    };
    matches!(arguments.args.first(), Some(GenericArgument::Type(ok)) if is_next(bare(ok)))
}

/// Returns the span of the second argument of a `Result<Next, _>`, or of the whole type if there is
/// no second argument.
fn span_of_error(ty: &Type) -> Span {
    let arguments = last_segment(ty).map(|last| &last.arguments);
    match arguments {
        Some(PathArguments::AngleBracketed(arguments)) if arguments.args.len() > 1 => {
            arguments.args[1].span()
        }
        _ => ty.span(),
    }
}

/// Returns true if `ty` is a reference to a `Context<'_, _>` or a `Decide<'_, '_, _>`.
pub(crate) fn is_context(ty: &Type) -> bool {
    match bare(ty) {
        Type::Reference(reference) => {
            let last = last_segment(&reference.elem);
            last.is_some_and(|last| last.ident == "Context" || last.ident == "Decide")
        }
        _ => false,
    }
}

/// Returns the type `R` if `ty` is a `Reply<R>`.
pub(crate) fn answer_of_reply(ty: &Type) -> Option<&Type> {
    argument_of(ty, "Reply")
}

/// Returns the type `T` if `ty` is the type named `name` with the only argument `T`.
pub(crate) fn argument_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let last = last_segment(ty).filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let mut types = arguments.args.iter();
    match (types.next(), types.next()) {
        (Some(GenericArgument::Type(argument)), None) => Some(argument),
        _ => None,
    }
}

/// Returns true if `ty` is an `Option<_>`.
pub(crate) fn is_option(ty: &Type) -> bool {
    is_named(ty, "Option")
}

/// Returns true if the last segment of the path of `ty` is `name`.
pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|last| last.ident == name)
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// Returns the type without parentheses. Invisible parentheses, which a macro may have added, are
/// removed, too.
pub(crate) fn bare(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}

/// Returns an error for each borrow and each unnamed type within `ty`, because these cannot be sent
/// in a message. The errors describe the type as `what`.
pub(crate) fn unsendable(ty: &Type, what: &'static str) -> Vec<Error> {
    let mut finder = Finder {
        what,
        found: Vec::new(),
    };
    finder.visit_type(ty);
    finder.found
}

/// Replaces all lifetimes of a type with `'static`. Returns `None` if the type has no name, such as
/// an `impl Trait`.
pub(crate) fn owned(ty: &Type) -> Option<Type> {
    let mut owned = ty.clone();
    Owned.visit_type_mut(&mut owned);
    unsendable(&owned, "an answer").is_empty().then_some(owned)
}

struct Owned;

impl VisitMut for Owned {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference.lifetime = Some(syn::parse_quote!('static));
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = syn::parse_quote!('static);
    }
}

struct Finder {
    what: &'static str,
    found: Vec<Error>,
}

impl Finder {
    fn borrowed(&mut self, culprit: impl quote::ToTokens) {
        let message = format!(
            "{} must own its data, because it can outlive the call; use `String` instead of `&str`, `Vec<T>` \
             instead of `&[T]`, an `Arc<T>` for shared data, or a `&'static` reference",
            self.what
        );
        self.found.push(Error::new_spanned(culprit, message));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        match &reference.lifetime {
            Some(lifetime) if lifetime.ident == "static" => {
                visit::visit_type_reference(self, reference);
            }
            _ => self.borrowed(reference),
        }
    }

    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident != "static" {
            self.borrowed(lifetime);
        }
    }

    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        let message = format!(
            "{} cannot have an `impl Trait` in its type; name the type, use `Box<dyn Trait + Send>`, or make \
             the type a generic parameter of the `impl` block",
            self.what
        );
        self.found.push(Error::new_spanned(ty, message));
    }

    // Lifetimes in the signature of a function type do not matter here.
    fn visit_type_bare_fn(&mut self, _: &'ast TypeBareFn) {}

    fn visit_parenthesized_generic_arguments(&mut self, _: &'ast ParenthesizedGenericArguments) {}

    fn visit_trait_bound(&mut self, bound: &'ast TraitBound) {
        if bound.lifetimes.is_none() {
            visit::visit_trait_bound(self, bound);
        }
    }
}

/// A visitor that replaces `Self` with the actor's type, because the result is copied to places
/// where `Self` means another type.
pub(crate) struct Named<'a>(pub(crate) &'a TypePath);

impl Named<'_> {
    fn name(&self, qself: &mut Option<QSelf>, path: &mut Path) {
        let starts = path.segments.first().is_some_and(|s| s.ident == "Self");
        if qself.is_some() || !starts || path.leading_colon.is_some() {
            return;
        }
        if path.segments.len() == 1 {
            *path = self.0.path.clone();
            return;
        }
        let rest = path.segments.iter().skip(1);
        let actor = self.0;
        let named: TypePath = syn::parse_quote!(<#actor>#(::#rest)*);
        (*qself, *path) = (named.qself, named.path);
    }
}

impl VisitMut for Named<'_> {
    fn visit_type_path_mut(&mut self, ty: &mut TypePath) {
        visit_mut::visit_type_path_mut(self, ty);
        self.name(&mut ty.qself, &mut ty.path);
    }

    fn visit_expr_path_mut(&mut self, expr: &mut ExprPath) {
        visit_mut::visit_expr_path_mut(self, expr);
        self.name(&mut expr.qself, &mut expr.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;
    use syn::parse_quote;

    fn is_sendable(ty: &Type) -> bool {
        unsendable(ty, "a message").is_empty()
    }

    #[test]
    fn context_and_reply_are_known_by_their_names() {
        assert!(is_context(&parse_quote!(&mut Context<'_, Msg>)));
        assert!(is_context(&parse_quote!(&garrick::Context<'_, Msg>)));
        assert!(is_context(&parse_quote!(&mut Decide<'_, '_, Self>)));
        assert!(!is_context(&parse_quote!(Context<'_, Msg>)));
        let reply: Type = parse_quote!(garrick::Reply<Vec<u8>>);
        let answer = answer_of_reply(&reply);
        assert_eq!(quote!(#answer).to_string(), "Vec < u8 >");
        assert!(answer_of_reply(&parse_quote!(Option<Reply<u8>>)).is_none());
        assert!(answer_of_reply(&parse_quote!(Reply<u8, u8>)).is_none());
    }

    #[test]
    fn what_is_returned_is_known_by_its_name() {
        assert!(matches!(Returned::of(&parse_quote!()), Returned::Nothing));
        assert!(matches!(
            Returned::of(&parse_quote!(-> ())),
            Returned::Nothing
        ));
        assert!(matches!(Returned::of(&parse_quote!(-> !)), Returned::Next));
        assert!(matches!(
            Returned::of(&parse_quote!(-> garrick::Next)),
            Returned::Next
        ));
        assert!(matches!(
            Returned::of(&parse_quote!(-> (Next))),
            Returned::Next
        ));
        assert!(matches!(
            Returned::of(&parse_quote!(-> std::io::Result<Next>)),
            Returned::Fallible(_)
        ));
        assert!(matches!(
            Returned::of(&parse_quote!(-> Result<(), Error>)),
            Returned::Answer(_)
        ));
        assert!(matches!(
            Returned::of(&parse_quote!(-> Option<Next>)),
            Returned::Answer(_)
        ));
    }

    #[test]
    fn what_is_owned_can_be_sent() {
        assert!(is_sendable(&parse_quote!(Vec<(String, &'static str)>)));
        assert!(is_sendable(&parse_quote!(
            Box<dyn Fn(&str) -> &str + Send + 'static>
        )));
        assert!(is_sendable(&parse_quote!(
            Box<dyn for<'a> Parse<'a> + Send>
        )));
        assert!(is_sendable(&parse_quote!(fn(&str) -> &str)));
    }

    #[test]
    fn what_borrows_or_has_no_name_cannot() {
        assert!(!is_sendable(&parse_quote!(&str)));
        assert!(!is_sendable(&parse_quote!(Option<&mut [u8]>)));
        assert!(!is_sendable(&parse_quote!(Cow<'_, str>)));
        assert!(!is_sendable(&parse_quote!(&'a str)));
        assert!(!is_sendable(&parse_quote!(&'static [&str])));
        assert!(!is_sendable(&parse_quote!(Vec<impl Send>)));
    }

    #[test]
    fn self_becomes_the_actor() {
        let actor: TypePath = parse_quote!(a::Cache<T>);
        let mut ty: Type =
            parse_quote!((Self, Vec<Self>, Self::Key, [u8; Self::SIZE], <Self as I>::X));
        Named(&actor).visit_type_mut(&mut ty);
        let expected: Type = parse_quote!((
            a::Cache<T>,
            Vec<a::Cache<T>>,
            <a::Cache<T>>::Key,
            [u8; <a::Cache<T>>::SIZE],
            <a::Cache<T> as I>::X
        ));
        assert_eq!(quote!(#ty).to_string(), quote!(#expected).to_string());
    }
}
