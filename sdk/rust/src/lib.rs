//! The guest side of a Skillet skill in Rust: it reads the input of a tool call, writes its output or error, and calls
//! the functions the host offers (files, HTTP, key-value state, secrets, log, notifications, other skills, models). It
//! needs no other crate and no standard library, only `alloc`.
//!
//! ```
//! skillet::object! {
//!     struct Input { name: String }
//! }
//! skillet::object! {
//!     struct Output { greeting: String }
//! }
//!
//! fn greet(input: Input) -> skillet::Result<Output> {
//!     if input.name.is_empty() {
//!         return skillet::fail!(Invalid, "name: must not be empty");
//!     }
//!     Ok(Output { greeting: format!("Hello, {}", input.name) })
//! }
//!
//! skillet::tool!(greet);
//! # fn main() {}
//! ```
//!
//! Build it as a library of the type `cdylib` for `wasm32-unknown-unknown`. Nothing has to be freed: the host puts the
//! module back to its beginning after each call. A module imports only the host functions it uses, so its imports say
//! what it can ask for. On other targets, as in `cargo test`, every host function fails with [`Kind::Failed`].

#![no_std]
#![deny(missing_docs)]

/// What the macros use; not for skills.
#[doc(hidden)]
pub extern crate alloc as __alloc;

extern crate alloc;

#[macro_use]
mod json;
mod host;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

pub use host::*;
pub use json::{member, plain, Json, Map, Value};

/// The result of what can fail here.
pub type Result<T> = core::result::Result<T, Error>;

/// An error with its kind: what a host function answers, or what a tool ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What sort of error it is.
    pub kind: Kind,
    /// One line for a person, in lower case and without a period.
    pub message: String,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.message.is_empty() { self.kind.name() } else { &self.message })
    }
}

/// Ends a function with an error of a [`Kind`]; the message is written as in `format!`.
#[macro_export]
macro_rules! fail {
    ($kind:ident, $($message:tt)+) => {
        ::core::result::Result::Err($crate::Error::new($crate::Kind::$kind, $crate::__alloc::format!($($message)+)))
    };
}

/// Exports a function as a tool: `tool!(greet)`, or `tool!("other_name", greet)`. It is given the input, decoded as its
/// only parameter, and what it returns is the output. Members of the input that the parameter does not have are ignored,
/// those that are missing have their default, and one of another type is an error that names it. Empty input is an empty
/// object.
#[macro_export]
macro_rules! tool {
    ($function:ident) => {
        $crate::tool!(stringify!($function), $function);
    };
    ($name:expr, $function:path) => {
        const _: () = {
            #[cfg_attr(target_arch = "wasm32", export_name = $name)]
            #[allow(dead_code)]
            extern "C" fn exported() -> i32 {
                $crate::run($function)
            }
        };
    };
}

/// Runs a tool on the input of the call, and returns what an exported function has to return. [`tool!`] uses it.
pub fn run<I: Json, O: Json>(function: impl FnOnce(I) -> Result<O>) -> i32 {
    let done = decode(&input()).and_then(function).map(|out| {
        let mut text = String::new();
        out.write(&mut text);
        output(text.as_bytes())
    });
    match done {
        Ok(()) => 0,
        Err(e) => report(&e),
    }
}

/// Reads JSON into a value. Empty text is an empty object.
pub fn decode<T: Json>(text: &[u8]) -> Result<T> {
    let text = core::str::from_utf8(text).map_err(|_| Error::new(Kind::Invalid, "input: not valid UTF-8"))?;
    let value = if json::trim(text).is_empty() { Value::Object(Vec::new()) } else { Value::parse(text)? };
    T::read(&value, "")
}

/// Writes a value as JSON.
pub fn encode(value: &impl Json) -> String {
    let mut text = String::new();
    value.write(&mut text);
    text
}

/// Tells the host of an error, and returns what an exported function has to return then.
pub fn report(error: &Error) -> i32 {
    let (kind, message) = (error.kind.name(), error.to_string());
    transfer::error_write(kind.as_bytes(), message.as_bytes());
    1
}

/// The whole input of the call as it is.
pub fn input() -> Vec<u8> {
    let mut all = vec![0; transfer::input_length()];
    let got = transfer::input_read(&mut all);
    all.truncate(got);
    all
}

/// Appends to the output of the call. The host ends the call when it grows past its limit.
pub fn output(bytes: &[u8]) {
    transfer::output_write(bytes)
}

/// Reads a whole file, of any length. It needs the grant fs.read for the path.
pub fn read_file(path: &str) -> Result<Vec<u8>> {
    let mut part = fs_read(FsReadRequest { path, ..Default::default() })?;
    let mut all = core::mem::take(&mut part.body.0);
    while part.truncated {
        part = fs_read(FsReadRequest { path, offset: all.len() as i64, ..Default::default() })?;
        if part.body.is_empty() {
            return fail!(Limit, "read {}: the host stopped after {} of {} bytes", path, all.len(), part.size);
        }
        all.extend_from_slice(&part.body);
    }
    Ok(all)
}

/// Writes a line without fields to the log of the call.
pub fn log(level: Level, text: &str) -> Result<()> {
    log_line(LogRequest { level, ..Default::default() }, text.as_bytes())
}

/// Is [`skill_call`] with an input that is encoded, and an output that is decoded.
pub fn skill_call_as<O: Json>(ask: SkillCallRequest, input: &impl Json) -> Result<O> {
    let skill = ask.skill;
    let answer = skill_call(ask, encode(input).as_bytes())?;
    decode(&answer.body).map_err(|e| Error::new(Kind::Failed, format!("call skill {}: its answer: {}", skill, e)))
}

/// Bytes that are no text of JSON's: the body of an answer. As JSON they are a string, in which what is no UTF-8 is
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl core::ops::Deref for Bytes {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl Json for Bytes {
    fn read(value: &Value, path: &str) -> Result<Self> {
        String::read(value, path).map(|s| Bytes(s.into_bytes()))
    }

    fn write(&self, out: &mut String) {
        json::string(out, &String::from_utf8_lossy(&self.0))
    }
}

/// The error for an answer of the host that is not what it should be.
fn malformed(subject: &str, e: Error) -> Error {
    Error::new(Kind::Io, format!("{}: the host sent a malformed response: {}", subject, e.message))
}

/// Passes one request to the host and returns the members and the body of its answer. Every error begins with subject:
/// the operation and what it is about.
fn request(call: transfer::Function, subject: &str, ask: &str, body: &[u8]) -> Result<(Value, Vec<u8>)> {
    let (meta, body) = match transfer::exchange(call, ask.as_bytes(), body) {
        Some(both) => both,
        None => return fail!(Failed, "{}: no skill host on this target: build for wasm32-unknown-unknown", subject),
    };
    let malformed = || Error::new(Kind::Io, format!("{}: the host sent a malformed response", subject));
    let text = String::from_utf8(meta).map_err(|_| malformed())?;
    let answer = Value::parse(&text).map_err(|_| malformed())?;
    match answer.get("error") {
        Some(e) => {
            let word = |name: &str| e.get(name).and_then(Value::text).unwrap_or("");
            let kind = Kind::of(word("kind")).unwrap_or(Kind::Failed);
            Err(Error::new(kind, format!("{}: {}", subject, word("message"))))
        }
        None => Ok((answer, body)),
    }
}

/// The functions that move bytes between the host and memory.
mod transfer {
    use alloc::vec;
    use alloc::vec::Vec;

    #[cfg(target_arch = "wasm32")]
    use crate::host::imports;

    /// A host function in its uniform shape: the request's members and body in, the lengths of the answer's out.
    pub type Function = unsafe extern "C" fn(meta: *const u8, meta_length: usize, body: *const u8, body_length: usize) -> i64;

    #[cfg(target_arch = "wasm32")]
    pub fn exchange(call: Function, meta: &[u8], body: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let both = unsafe { call(meta.as_ptr(), meta.len(), at(body), body.len()) } as u64;
        let (mut meta, mut body) = (vec![0; (both >> 32) as usize], vec![0; both as u32 as usize]);
        unsafe { imports::response_read(at_mut(&mut meta), at_mut(&mut body)) };
        Some((meta, body))
    }

    #[cfg(target_arch = "wasm32")]
    pub fn input_length() -> usize {
        unsafe { imports::input_length() as usize }
    }

    #[cfg(target_arch = "wasm32")]
    pub fn input_read(to: &mut [u8]) -> usize {
        unsafe { imports::input_read(at_mut(to), 0, to.len()) as usize }
    }

    #[cfg(target_arch = "wasm32")]
    pub fn output_write(from: &[u8]) {
        unsafe { imports::output_write(at(from), from.len()) }
    }

    #[cfg(target_arch = "wasm32")]
    pub fn error_write(kind: &[u8], message: &[u8]) {
        unsafe { imports::error_write(at(kind), kind.len(), at(message), message.len()) }
    }

    /// Where bytes are. A slice of none points at nothing, which the host may refuse.
    #[cfg(target_arch = "wasm32")]
    fn at(bytes: &[u8]) -> *const u8 {
        if bytes.is_empty() { core::ptr::null() } else { bytes.as_ptr() }
    }

    #[cfg(target_arch = "wasm32")]
    fn at_mut(bytes: &mut [u8]) -> *mut u8 {
        if bytes.is_empty() { core::ptr::null_mut() } else { bytes.as_mut_ptr() }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn exchange(_: Function, _: &[u8], _: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        None
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn input_length() -> usize {
        let none: Vec<u8> = vec![];
        none.len()
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn input_read(_: &mut [u8]) -> usize {
        0
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn output_write(_: &[u8]) {}

    #[cfg(not(target_arch = "wasm32"))]
    pub fn error_write(_: &[u8], _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    object! {
        /// What is read and written.
        struct Thing {
            text: String,
            list: Vec<i64>,
            maybe: Option<f64>,
            r#type: bool,
            count: i64 = 7,
        }
    }

    choice! {
        /// A colour.
        enum Colour { Red = "red", DarkBlue = "dark_blue" }
    }

    fn message(text: &str) -> String {
        decode::<Thing>(text.as_bytes()).unwrap_err().message
    }

    #[test]
    fn reads_and_writes() {
        let got: Thing = decode(br#" {"text":"\u00fc\ud83d\ude80","list":[1,-2],"type":true,"other":[{}]} "#).unwrap();
        assert_eq!(encode(&got), r#"{"text":"ü🚀","list":[1,-2],"maybe":null,"type":true,"count":7}"#);
        assert_eq!(encode(&decode::<Thing>(b"").unwrap()), r#"{"text":"","list":[],"maybe":null,"type":false,"count":7}"#);
        assert_eq!(encode(&1e-7f64), "1e-7");
        assert_eq!(encode(&0.1f64), "0.1");
        assert_eq!(decode::<Colour>(br#""dark_blue""#).unwrap(), Colour::DarkBlue);
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(message(r#"{"list":[1,"2"]}"#), "list[1]: must be a whole number in range, not a string");
        assert_eq!(message(r#"{"text":7}"#), "text: must be a string, not this number");
        assert_eq!(message("[1]"), "input: must be an object, not an array");
        assert_eq!(message("{} {}"), "input: not valid JSON");
        assert_eq!(decode::<Colour>(br#""green""#).unwrap_err().message, "input: must be one of red, dark_blue, not a string");
    }

    #[test]
    fn has_no_host() {
        assert_eq!(read_file("/a").unwrap_err().kind, Kind::Failed);
    }
}
