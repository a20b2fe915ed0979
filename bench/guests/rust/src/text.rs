//! The text guest in Rust: count gives figures of the input, echo gives it
//! back.

use bench_guests::{input, output};

/// Makes modules differ from each other: the benchmark of many loaded skills
/// writes another number over it.
#[no_mangle]
pub extern "C" fn tag() -> *const u8 {
    "bench-tag:00000000".as_ptr()
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t'..=b'\r')
}

fn is_vowel(c: u8) -> bool {
    matches!(c | 0x20, b'a' | b'e' | b'i' | b'o' | b'u')
}

#[no_mangle]
pub extern "C" fn count() -> i32 {
    let text = input();
    let words = text
        .split(|c| is_space(*c))
        .filter(|word| !word.is_empty())
        .count();
    let vowels = text.iter().filter(|c| is_vowel(**c)).count();
    let answer = format!(
        "{{\"bytes\":{},\"words\":{},\"vowels\":{}}}",
        text.len(),
        words,
        vowels
    );
    output(answer.as_bytes());
    0
}

#[no_mangle]
pub extern "C" fn echo() -> i32 {
    output(&input());
    0
}
