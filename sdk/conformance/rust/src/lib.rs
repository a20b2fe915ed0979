//! The conformance skill in Rust.

mod functions;

use skillet::{fail, object, tool, Kind, Map, Result};

#[no_mangle]
extern "C" fn echo() -> i32 {
    for part in skillet::input().chunks(100_000) {
        skillet::output(part);
    }
    0
}

object! {
    struct Inner { depth: i64 }
}

object! {
    struct Values {
        text: String,
        int: i64,
        float: f64,
        flag: bool,
        list: Vec<i64>,
        map: Map<String>,
        maybe: Option<String>,
        inner: Inner,
    }
}

fn values(input: Values) -> Result<Values> {
    Ok(input)
}

object! {
    struct Failure { kind: String, message: String }
}

object! {
    pub struct Nothing {}
}

fn fails(input: Failure) -> Result<Nothing> {
    match Kind::of(&input.kind) {
        Some(kind) => Err(skillet::Error::new(kind, input.message)),
        None => fail!(Failed, "{}", input.message),
    }
}

object! {
    struct Path { path: String }
}

fn caught(input: Path) -> Result<Failure> {
    Ok(match skillet::read_file(&input.path) {
        Ok(_) => Failure::default(),
        Err(e) => Failure { kind: e.kind.name().into(), message: e.to_string() },
    })
}

object! {
    struct Sum { bytes: usize, sum: u32 }
}

fn read_file(input: Path) -> Result<Sum> {
    let content = skillet::read_file(&input.path)?;
    Ok(Sum { bytes: content.len(), sum: content.iter().fold(0, |sum, b| sum.wrapping_add(u32::from(*b))) })
}

tool!(values);
tool!("fail", fails);
tool!(caught);
tool!(read_file);
