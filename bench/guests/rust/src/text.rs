//! The text guest in Rust: count gives figures of the input, echo gives it
//! back.

use bench_guests::{input, output};

/// Makes modules differ from each other: the benchmark of many loaded skills
/// writes another number over it.
#[no_mangle]
pub extern "C" fn tag() -> *const u8 {
    "bench-tag:00000000".as_ptr()
}

/// Has the allocator get its first memory, which every call would otherwise do
/// again: calls begin at the snapshot that is taken after this.
#[no_mangle]
pub extern "C" fn _initialize() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(32 << 10)));
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
