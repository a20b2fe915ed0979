//! JSON (RFC 8259), as far as skills need it: a value of any kind, and types that are read from and written as one.

use crate::{Error, Kind, Result};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A JSON object with members of one type.
pub type Map<T> = BTreeMap<String, T>;

/// How deeply arrays and objects may nest.
const DEPTH: usize = 128;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// a number, as it is written
    Number(String),
    /// a string
    String(String),
    /// an array
    Array(Vec<Value>),
    /// an object, its members in the order they are written in; of several with one name the last one counts
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads one value and nothing around it but white space.
    pub fn parse(text: &str) -> Result<Value> {
        let mut p = Parser { rest: text };
        let value = p.value(0);
        p.space();
        match value {
            Some(v) if p.rest.is_empty() => Ok(v),
            _ => Err(Error::new(Kind::Invalid, "input: not valid JSON")),
        }
    }

    /// A member of an object; none when there is none, or the value is something else.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(all) => all.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The error for a value at a path that is not what was expected.
    pub fn wrong(&self, expected: &str, path: &str) -> Error {
        let what = match self {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "this number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        let at = if path.is_empty() { "input" } else { path };
        Error::new(Kind::Invalid, format!("{}: must be {}, not {}", at, expected, what))
    }
}

/// A type that is read from JSON and written as JSON. The macros `object!` and `choice!` make such types.
pub trait Json: Sized {
    /// Reads a value. path is where it stands, for errors.
    fn read(value: &Value, path: &str) -> Result<Self>;

    /// Appends the value as JSON.
    fn write(&self, out: &mut String);
}

/// Reads a member of an object; none when it is missing or null. `object!` uses it.
pub fn member<T: Json>(object: &Value, name: &str, path: &str) -> Result<Option<T>> {
    if !matches!(object, Value::Object(_)) {
        return Err(object.wrong("an object", path));
    }
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(v) if path.is_empty() => T::read(v, name).map(Some),
        Some(v) => T::read(v, &format!("{}.{}", path, name)).map(Some),
    }
}

/// The name of a field without the mark of a raw identifier. `object!` uses it.
pub fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Makes a struct whose fields are the members of a JSON object. A member that is missing or null has the default of its
/// type, or the one that stands behind it:
///
/// ```
/// skillet::object! {
///     /// What search takes.
///     pub struct Input {
///         pub query: String,
///         pub limit: i64 = 10,
///         pub before: Option<String>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! object {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty $(= $default:expr)?),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type),* }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::object!(@default $($default)?)),* }
            }
        }

        impl $crate::Json for $name {
            #[allow(unused_variables)]
            fn read(value: &$crate::Value, path: &str) -> $crate::Result<Self> {
                if !matches!(value, $crate::Value::Object(_)) {
                    return ::core::result::Result::Err(value.wrong("an object", path));
                }
                ::core::result::Result::Ok(Self {
                    $($field: $crate::member(value, $crate::plain(stringify!($field)), path)?
                        .unwrap_or_else(|| $crate::object!(@default $($default)?))),*
                })
            }

            #[allow(unused_mut, unused_variables, unused_assignments)]
            fn write(&self, out: &mut $crate::__alloc::string::String) {
                let mut separator = '{';
                $(
                    out.push(separator);
                    $crate::Json::write(&$crate::__alloc::string::String::from($crate::plain(stringify!($field))), out);
                    out.push(':');
                    $crate::Json::write(&self.$field, out);
                    separator = ',';
                )*
                if separator == '{' {
                    out.push('{');
                }
                out.push('}');
            }
        }
    };
    (@default) => { ::core::default::Default::default() };
    (@default $default:expr) => { $default };
}

/// Makes an enum whose variants are words of JSON. The first one is the default.
///
/// ```
/// skillet::choice! {
///     pub enum Unit { Celsius = "celsius", Fahrenheit = "fahrenheit" }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$variant_meta])* $variant),* }

        #[allow(dead_code)]
        impl $name {
            /// The word for it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// What a word stands for.
            pub fn of(word: &str) -> ::core::option::Option<Self> {
                match word { $($word => ::core::option::Option::Some(Self::$variant),)* _ => ::core::option::Option::None }
            }
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                [$(Self::$variant),*][0]
            }
        }

        impl $crate::Json for $name {
            fn read(value: &$crate::Value, path: &str) -> $crate::Result<Self> {
                value.text().and_then(Self::of).ok_or_else(|| {
                    let words: &[&str] = &[$($word),*];
                    value.wrong(&$crate::__alloc::format!("one of {}", words.join(", ")), path)
                })
            }

            fn write(&self, out: &mut $crate::__alloc::string::String) {
                $crate::Json::write(&$crate::__alloc::string::String::from(self.name()), out)
            }
        }
    };
}

impl Json for Value {
    fn read(value: &Value, _: &str) -> Result<Self> {
        Ok(value.clone())
    }

    fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => b.write(out),
            Value::Number(n) => out.push_str(n),
            Value::String(s) => s.write(out),
            Value::Array(all) => all.write(out),
            Value::Object(all) => object(out, all.iter().map(|(n, v)| (n, v))),
        }
    }
}

impl Json for bool {
    fn read(value: &Value, path: &str) -> Result<Self> {
        match value {
            Value::Bool(b) => Ok(*b),
            _ => Err(value.wrong("true or false", path)),
        }
    }

    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" })
    }
}

impl Json for String {
    fn read(value: &Value, path: &str) -> Result<Self> {
        value.text().map(String::from).ok_or_else(|| value.wrong("a string", path))
    }

    fn write(&self, out: &mut String) {
        string(out, self)
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Json for $type {
            fn read(value: &Value, path: &str) -> Result<Self> {
                match value {
                    Value::Number(n) => n.parse().map_err(|_| value.wrong("a whole number in range", path)),
                    _ => Err(value.wrong("a whole number in range", path)),
                }
            }

            fn write(&self, out: &mut String) {
                let _ = write!(out, "{}", self); // a String takes everything
            }
        }
    )*};
}

whole!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);

impl Json for f64 {
    fn read(value: &Value, path: &str) -> Result<Self> {
        let number = match value {
            Value::Number(n) => n.parse::<f64>().ok(),
            _ => return Err(value.wrong("a number", path)),
        };
        number.filter(|n| n.is_finite()).ok_or_else(|| value.wrong("a number in range", path))
    }

    fn write(&self, out: &mut String) {
        let size = if *self < 0.0 { -*self } else { *self };
        let _ = match () {
            _ if !self.is_finite() => write!(out, "null"), // JSON has no such number
            _ if size != 0.0 && !(1e-5..1e21).contains(&size) => write!(out, "{:e}", self),
            _ => write!(out, "{}", self),
        };
    }
}

impl<T: Json> Json for Option<T> {
    fn read(value: &Value, path: &str) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            _ => T::read(value, path).map(Some),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Some(v) => v.write(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Json> Json for Vec<T> {
    fn read(value: &Value, path: &str) -> Result<Self> {
        match value {
            Value::Array(all) => all.iter().enumerate().map(|(i, v)| T::read(v, &format!("{}[{}]", path, i))).collect(),
            _ => Err(value.wrong("an array", path)),
        }
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        for (i, v) in self.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            v.write(out);
        }
        out.push(']');
    }
}

impl<T: Json> Json for Map<T> {
    fn read(value: &Value, path: &str) -> Result<Self> {
        let all = match value {
            Value::Object(all) => all,
            _ => return Err(value.wrong("an object", path)),
        };
        let join = |name: &str| if path.is_empty() { String::from(name) } else { format!("{}.{}", path, name) };
        all.iter().map(|(n, v)| Ok((n.clone(), T::read(v, &join(n))?))).collect()
    }

    fn write(&self, out: &mut String) {
        object(out, self.iter())
    }
}

/// Appends an object.
fn object<'a, T: Json + 'a>(out: &mut String, members: impl Iterator<Item = (&'a String, &'a T)>) {
    out.push('{');
    for (i, (name, value)) in members.enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(out, name);
        out.push(':');
        value.write(out);
    }
    out.push('}');
}

/// Appends a string in quotes.
pub fn string(out: &mut String, s: &str) {
    out.push('"');
    let mut plain = 0; // where what has to be appended begins
    for (i, b) in s.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&s[plain..i]);
        plain = i + 1;
        let _ = match b {
            b'"' => out.write_str("\\\""),
            b'\\' => out.write_str("\\\\"),
            b'\n' => out.write_str("\\n"),
            b'\r' => out.write_str("\\r"),
            b'\t' => out.write_str("\\t"),
            _ => write!(out, "\\u{:04x}", b),
        };
    }
    out.push_str(&s[plain..]);
    out.push('"');
}

/// The text without white space around it.
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c| matches!(c, ' ' | '\t' | '\n' | '\r'))
}

/// What is left of a text that is read. Its methods return none for what is no JSON.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    /// Takes a word that has to come next.
    fn take(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.space();
        match self.rest.bytes().next()? {
            b'n' => self.take("null").map(|_| Value::Null),
            b't' => self.take("true").map(|_| Value::Bool(true)),
            b'f' => self.take("false").map(|_| Value::Bool(false)),
            b'"' => self.string().map(Value::String),
            b'[' => self.array(depth),
            b'{' => self.object(depth),
            _ => self.number(),
        }
    }

    /// Reports whether the list ends here, or goes on behind a comma.
    fn more(&mut self, end: &str) -> Option<bool> {
        self.space();
        if self.rest.starts_with(end) {
            self.take(end)?;
            return Some(false);
        }
        self.take(",").map(|_| true)
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.take("[")?;
        let mut all = Vec::new();
        self.space();
        if self.rest.starts_with(']') {
            return self.take("]").map(|_| Value::Array(all));
        }
        loop {
            all.push(self.value(depth + 1)?);
            if !self.more("]")? {
                return Some(Value::Array(all));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take("{")?;
        let mut all = Vec::new();
        self.space();
        if self.rest.starts_with('}') {
            return self.take("}").map(|_| Value::Object(all));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.take(":")?;
            all.push((name, self.value(depth + 1)?));
            if !self.more("}")? {
                return Some(Value::Object(all));
            }
        }
    }

    /// Takes the digits that come next, of which there must be one.
    fn digits(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == self.rest.len() {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    fn number(&mut self) -> Option<Value> {
        let from = self.rest;
        let _ = self.take("-");
        if self.take("0").is_none() {
            self.digits()?;
        }
        if self.take(".").is_some() {
            self.digits()?;
        }
        if self.rest.starts_with(|c| matches!(c, 'e' | 'E')) {
            self.rest = &self.rest[1..];
            if self.rest.starts_with(|c| matches!(c, '+' | '-')) {
                self.rest = &self.rest[1..];
            }
            self.digits()?;
        }
        Some(Value::Number(String::from(&from[..from.len() - self.rest.len()])))
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut out = String::new();
        loop {
            let end = self.rest.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\')?;
            out.push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
            if self.take("\"").is_some() {
                return Some(out);
            }
            self.take("\\")?;
            out.push(self.escape()?);
        }
    }

    /// The character that an escape stands for.
    fn escape(&mut self) -> Option<char> {
        let sign = self.rest.chars().next()?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(match sign {
            '"' | '\\' | '/' => sign,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            _ => return None,
        })
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hex()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        self.take("\\u")?;
        let low = self.hex()?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.rest = &self.rest[4..];
        u32::from_str_radix(digits, 16).ok()
    }
}
