//! Collecting what is wrong.

use std::fmt::Display;

use quote::ToTokens;

/// The mistakes found so far; reported together, so that nobody has to compile once for each.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Under `tokens`: what is wrong, and what to write instead.
    pub(crate) fn add(&mut self, tokens: impl ToTokens, what: impl Display, instead: impl Display) {
        self.absorb(syn::Error::new_spanned(tokens, format!("{what}\nhelp: {instead}")));
    }

    pub(crate) fn absorb(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// # Errors
    ///
    /// All of them, if there are any.
    pub(crate) fn finish(self) -> Result<(), syn::Error> {
        self.0.map_or(Ok(()), Err)
    }
}
