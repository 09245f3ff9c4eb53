//! The whole way of a trait through the macro, on tokens. What the generated code does is tested
//! from the crate `rmi`, and so are the words of its messages.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{Item, ItemTrait};

use crate::expand;

/// The items that a trait becomes.
fn items(options: TokenStream, item: TokenStream) -> Vec<Item> {
    let file: syn::File = syn::parse2(expand(options, item)).expect("generated code has no holes");
    file.items
}

fn trait_named<'a>(items: &'a [Item], name: &str) -> &'a ItemTrait {
    let mut traits = items.iter().filter_map(|item| match item {
        Item::Trait(item) if item.ident == name => Some(item),
        _ => None,
    });
    traits.next().expect("it is generated")
}

/// How often a word stands in the tokens, at any depth.
fn count(tokens: TokenStream, word: &str) -> usize {
    let of_token = |token| match token {
        TokenTree::Group(group) => count(group.stream(), word),
        TokenTree::Ident(ident) => usize::from(ident == word),
        TokenTree::Literal(literal) => usize::from(literal.to_string() == word),
        TokenTree::Punct(_) => 0,
    };
    tokens.into_iter().map(of_token).sum()
}

#[test]
fn a_trait_becomes_itself_its_twin_its_reference_and_one_block_of_the_rest() {
    let items = items(
        quote!(),
        quote!(
            pub trait Account {
                async fn f(&self) -> Result<()>;
            }
        ),
    );
    let [Item::Trait(itself), Item::Trait(twin), Item::Struct(reference), Item::Const(rest)] =
        items.as_slice()
    else {
        panic!("{} items, or others", items.len());
    };
    assert_eq!(itself.ident, "Account");
    assert_eq!(twin.ident, "__AccountObject");
    assert_eq!(reference.ident, "AccountRef");
    assert_eq!(rest.ident, "_");
}

#[test]
fn send_and_sync_are_added_once() {
    let cases = [
        (
            quote!(
                trait A {}
            ),
            3,
        ),
        (
            quote!(
                trait A: Send {}
            ),
            3,
        ),
        (
            quote!(
                trait A: Sync + Debug + Send + Other {}
            ),
            5,
        ),
    ];
    for (item, want) in cases {
        let name = item.to_string();
        let items = items(quote!(), item);
        assert_eq!(trait_named(&items, "A").supertraits.len(), want, "{name}");
    }
}

#[test]
fn documentation_and_deprecation_reach_the_reference_and_other_attributes_do_not() {
    let item = quote! {
        /// A bank account.
        #[deprecated]
        #[allow(dead_code)]
        pub trait Account {}
    };
    let items = items(quote!(), item);
    let Some(Item::Struct(reference)) = items.get(2) else { panic!("no reference") };
    let names = reference.attrs.iter().map(|attr| attr.path().get_ident().expect("one word"));
    let names: Vec<_> = names.map(ToString::to_string).collect();
    assert_eq!(names, ["doc", "deprecated", "doc", "doc"]);
}

#[test]
fn a_cfg_is_on_everything_that_is_generated_for_its_method() {
    let method = quote!(
        async fn f(&self, x: Gone) -> Result<()>;
    );
    let plain = expand(quote!(), quote!(trait A { #method }));
    let absent = expand(quote!(), quote!(trait A { #[cfg(never)] #method }));
    // In the trait, the twin and its impl, the two constants, the table of ids, the list of
    // methods, the assertions, the stub, the handler and the fingerprint.
    assert_eq!(count(absent.clone(), "cfg"), 11);
    // And no bound of the stub, the skeleton and the exports speaks of a type that may not exist.
    assert_eq!(count(plain, "Gone") - count(absent, "Gone"), 3);
}

#[test]
fn a_trait_is_known_by_its_own_name_or_the_one_that_it_is_given() {
    let item = quote!(
        trait r#Account {
            async fn r#type(&self) -> Result<()>;
        }
    );
    let own = expand(quote!(), item.clone());
    assert_eq!((count(own.clone(), "\"Account\""), count(own, "\"type\"")), (2, 1));
    let given = expand(quote!(name = "bank.Account"), item);
    assert_eq!((count(given.clone(), "\"bank.Account\""), count(given, "\"Account\"")), (2, 0));
}

#[test]
fn borrowed_arguments_are_signed_like_owned_ones() {
    let borrowed = quote!(
        trait A {
            async fn f(&self, a: &str, b: &[u8], c: &C) -> Result<()>;
        }
    );
    let owned = quote!(
        trait A {
            async fn f(&self, a: String, b: Vec<u8>, c: C) -> Result<()>;
        }
    );
    for item in [borrowed, owned] {
        let signature = "\"(String, Vec<u8>, C) -> Result<()>\"";
        assert_eq!(count(expand(quote!(), item), signature), 1);
    }
}

#[test]
fn all_mistakes_are_reported_at_once_and_nothing_is_generated() {
    let item = quote! {
        trait A<'a> {
            type T;
            async fn f(&mut self, (a, b): (u8, &mut u8)) -> i64;
            fn g<T>();
        }
    };
    let errors = expand(quote!(nmae = "a"), item);
    // The option; the lifetime; the type; the receiver, the borrow, the pattern, the result; `async`,
    // the parameter, the receiver, the result.
    assert_eq!(count(errors.clone(), "compile_error"), 11);
    assert_eq!(count(errors, "trait"), 0);
}

#[test]
fn a_misplaced_attribute_leaves_its_item_in_place() {
    for item in [
        quote!(
            struct A;
        ),
        quote!(impl A for B {}),
        quote!(
            fn a() {}
        ),
    ] {
        let name = item.to_string();
        let tokens = expand(quote!(), item).to_string();
        assert!(tokens.ends_with(&name) && tokens.contains("compile_error"), "{tokens}");
    }
}
