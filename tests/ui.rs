//! Every message of `#[remote]`: which words, and under which token.

#[test]
fn wrong_use_is_told_where_and_what_to_write_instead() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
