//! The text of a signature, which both ends hash: the same on every compiler, however it was
//! formatted in the source.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Type;

/// `(String, u64) -> Result<i64>`: types only, borrowed arguments in their owned form.
pub(crate) fn text<'a>(arguments: impl Iterator<Item = &'a Type>, output: &Type) -> String {
    let arguments: Vec<_> = arguments.map(type_text).collect();
    format!("({}) -> {}", arguments.join(", "), type_text(output))
}

/// One type, as one would write it.
pub(crate) fn type_text(ty: &Type) -> String {
    let mut text = String::new();
    write(ty.to_token_stream(), &mut text);
    text
}

fn write(tokens: TokenStream, text: &mut String) {
    let mut after_dash = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                word(ident.strip_prefix("r#").unwrap_or(&ident), text);
            }
            TokenTree::Literal(literal) => word(&literal.to_string(), text),
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    // A comma before the end of a list of generic arguments says nothing.
                    '>' if !after_dash && text.ends_with(", ") => text.truncate(text.len() - 2),
                    '-' if punct.spacing() == Spacing::Joint => text.push(' '),
                    '=' | '+' => text.push(' '),
                    _ => {}
                }
                text.push(punct.as_char());
                if matches!(punct.as_char(), ',' | ';' | '=' | '+')
                    || (after_dash && punct.as_char() == '>')
                {
                    text.push(' ');
                }
                after_dash = punct.as_char() == '-';
                continue;
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    // Invisible: what a `macro_rules!` variable leaves around a type.
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                write(group.stream(), text);
                text.truncate(text.trim_end().len());
                text.push_str(close);
            }
        }
        after_dash = false;
    }
}

/// Two words in a row, as in `dyn Trait`, keep one space between them.
fn word(word: &str, text: &mut String) {
    if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
        text.push(' ');
    }
    text.push_str(word);
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_signature_has_one_text_however_it_is_formatted() {
        let cases: [(Type, &str); 8] = [
            (parse_quote!(Result<i64>), "Result<i64>"),
            (
                parse_quote!(std::result::Result< (), BankError, >),
                "std::result::Result<(), BankError>",
            ),
            (parse_quote!(HashMap<String, Vec<(u8,)>>), "HashMap<String, Vec<(u8,)>>"),
            (parse_quote!([u8; 4]), "[u8; 4]"),
            (parse_quote!([u8; { N + 1 }]), "[u8; {N + 1}]"),
            (parse_quote!(r#type::Name), "type::Name"),
            (parse_quote!(fn(u8) -> u8), "fn(u8) -> u8"),
            (parse_quote!(Page<Item = T>), "Page<Item = T>"),
        ];
        for (ty, want) in cases {
            assert_eq!(type_text(&ty), want);
        }
    }

    #[test]
    fn argument_and_result_types_make_the_text() {
        let arguments: [Type; 2] = [parse_quote!(String), parse_quote!(u64)];
        let output = parse_quote!(Result<i64>);
        assert_eq!(text(arguments.iter(), &output), "(String, u64) -> Result<i64>");
        assert_eq!(text([].iter(), &output), "() -> Result<i64>");
    }
}
