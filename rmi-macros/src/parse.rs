//! From tokens to a trait and its options; nothing is judged here but the options themselves.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, ItemTrait, LitStr, Meta, Token};

use crate::check::Mistakes;

/// What stands under and in `#[remote(...)]`, with what is wrong so far.
pub(crate) struct Parsed {
    pub(crate) name: Option<LitStr>,
    pub(crate) item: ItemTrait,
    pub(crate) mistakes: Mistakes,
}

/// Reads the attribute's options and the item under it.
///
/// # Errors
///
/// Tokens that report what is wrong if the item is no trait. The item itself is kept among them,
/// so that one misplaced attribute does not make all uses of the item errors as well.
pub(crate) fn parse(options: TokenStream, item: TokenStream) -> Result<Parsed, TokenStream> {
    let mut mistakes = Mistakes::default();
    let item = match syn::parse2::<ItemTrait>(item.clone()) {
        Ok(item) => item,
        Err(error) => {
            mistakes.absorb(no_trait(item.clone(), error));
            let errors = mistakes.finish().expect_err("a mistake was absorbed just now");
            let errors = errors.into_compile_error();
            return Err(quote!(#errors #item));
        }
    };
    let name = trait_options(options, &mut mistakes);
    Ok(Parsed { name, item, mistakes })
}

/// The name in `name = "..."`.
fn trait_options(options: TokenStream, mistakes: &mut Mistakes) -> Option<LitStr> {
    let mut name = None;
    for option in metas(options, mistakes).unwrap_or_default() {
        if !option.path().is_ident("name") {
            let what = format!("`#[remote]` has no option `{}`", text(option.path()));
            mistakes.add(&option, what, "the option of a trait is `name = \"...\"`");
            continue;
        }
        let value = option.require_name_value().map(|pair| pair.value.to_token_stream());
        let literal = value.and_then(syn::parse2::<LitStr>);
        match literal {
            Ok(_) if name.is_some() => {
                mistakes.add(&option, "the name is given twice", "keep one of the two");
            }
            Ok(literal) if literal.value().trim().is_empty() => {
                let instead =
                    "write how other nodes shall know it, as in `name = \"bank.Account\"`";
                mistakes.add(&literal, "an interface's name cannot be empty", instead);
            }
            Ok(literal) => name = Some(literal),
            Err(_) => {
                let instead = "write `name = \"bank.Account\"`";
                mistakes.add(&option, "an interface's name is a string", instead);
            }
        }
    }
    name
}

/// Takes `#[remote(...)]` out of a method's attributes; whether it says `oneway`.
pub(crate) fn method_options(attrs: &mut Vec<Attribute>, mistakes: &mut Mistakes) -> bool {
    let (own, rest) = attrs.drain(..).partition::<Vec<_>, _>(is_remote);
    *attrs = rest;
    let mut oneway = false;
    for attr in own {
        let options = match &attr.meta {
            Meta::List(list) => metas(list.tokens.clone(), mistakes),
            Meta::Path(_) | Meta::NameValue(_) => Some(Vec::new()),
        };
        let Some(options) = options else { continue };
        if options.is_empty() {
            let instead = "write `#[remote(oneway)]`, or leave the attribute out";
            mistakes.add(&attr, "`#[remote]` on a method needs an option", instead);
        }
        for option in options {
            match &option {
                Meta::Path(path) if path.is_ident("oneway") && oneway => {
                    mistakes.add(&option, "`oneway` is given twice", "keep one of the two");
                }
                Meta::Path(path) if path.is_ident("oneway") => oneway = true,
                Meta::Path(_) | Meta::List(_) | Meta::NameValue(_) => {
                    let what = format!("a method has no option `{}`", text(option.path()));
                    mistakes.add(&option, what, "the option of a method is `oneway`");
                }
            }
        }
    }
    oneway
}

/// `#[remote(...)]` or `#[rmi::remote(...)]`.
fn is_remote(attr: &Attribute) -> bool {
    attr.path().segments.last().is_some_and(|segment| segment.ident == "remote")
}

/// The options of one attribute; `None` if they are no list of options, which is reported.
fn metas(options: TokenStream, mistakes: &mut Mistakes) -> Option<Vec<Meta>> {
    match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(options) {
        Ok(metas) => Some(metas.into_iter().collect()),
        Err(error) => {
            let instead = "on a trait, write `#[remote(name = \"bank.Account\")]`; \
                           on a method, `#[remote(oneway)]`";
            let text = format!("these are no options of `#[remote]`: {error}\nhelp: {instead}");
            mistakes.absorb(syn::Error::new(error.span(), text));
            None
        }
    }
}

/// Why the item is no trait that `#[remote]` can stand on, under the word that makes it another.
fn no_trait(item: TokenStream, error: syn::Error) -> syn::Error {
    const PLACE: &str = "`#[remote]` goes on the trait\n\
                         help: implement it with plain `async fn`s, without any attribute";
    let word: &dyn ToTokens = match &syn::parse2::<Item>(item) {
        Ok(Item::Impl(item)) => &item.impl_token.clone(),
        Ok(Item::Struct(item)) => &item.struct_token.clone(),
        Ok(Item::Enum(item)) => &item.enum_token.clone(),
        Ok(Item::Fn(item)) => &item.sig.fn_token.clone(),
        Ok(other) => &other.to_token_stream(),
        // A trait with a syntax error inside.
        Err(_) => return error,
    };
    syn::Error::new_spanned(word, PLACE)
}

fn text(path: &syn::Path) -> String {
    let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}
