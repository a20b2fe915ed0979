//! A guest for benchmarks, as testdata/compute, with the standard library
//! alone. Each export does one piece of work n times and returns a number that
//! depends on all of it.

use std::collections::BTreeMap;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Recursive Fibonacci numbers.
#[no_mangle]
pub extern "C" fn fib(n: i32) -> i64 {
    if n < 2 { n as i64 } else { fib(n - 1) + fib(n - 2) }
}

/// The primes below 20,000.
#[no_mangle]
pub extern "C" fn sieve(n: i32) -> i64 {
    let mut total = 0;
    for _ in 0..n {
        let mut composite = vec![false; 20_000];
        for i in 2..composite.len() {
            if !composite[i] {
                total += i as i64;
                let mut k = i * i;
                while k < composite.len() {
                    composite[k] = true;
                    k += i;
                }
            }
        }
    }
    total
}

fn constants() -> ([u32; 64], [u32; 8]) {
    let primes: Vec<u32> = (2u32..312).filter(|p| (2..*p).all(|d| p % d != 0)).collect();
    let fraction = |x: f64| ((x - x.floor()) * 4294967296.0) as u32;
    let mut k = [0; 64];
    let mut h = [0; 8];
    for i in 0..64 {
        k[i] = fraction((primes[i] as f64).cbrt());
    }
    for i in 0..8 {
        h[i] = fraction((primes[i] as f64).sqrt());
    }
    (k, h)
}

fn compress(h: &mut [u32; 8], k: &[u32; 64], block: &[u8]) {
    let mut w = [0u32; 64];
    for i in 0..16 {
        w[i] = u32::from_be_bytes(block[4 * i..4 * i + 4].try_into().unwrap());
    }
    for i in 16..64 {
        let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
        let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
    }
    let mut v = *h;
    for i in 0..64 {
        let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let ch = (v[4] & v[5]) ^ (!v[4] & v[6]);
        let t1 = v[7].wrapping_add(s1).wrapping_add(ch).wrapping_add(k[i]).wrapping_add(w[i]);
        let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v = [t1.wrapping_add(s0).wrapping_add(maj), v[0], v[1], v[2], v[3].wrapping_add(t1), v[4], v[5], v[6]];
    }
    for i in 0..8 {
        h[i] = h[i].wrapping_add(v[i]);
    }
}

/// The SHA-256 state after 16 KiB.
#[no_mangle]
pub extern "C" fn sha256(n: i32) -> i64 {
    let (k, start) = constants();
    let mut data = vec![7u8; 16 << 10];
    let mut h = start;
    for _ in 0..n {
        for block in data.chunks_exact(64) {
            compress(&mut h, &k, block);
        }
        data[0] = h[0] as u8;
    }
    h[7] as i64
}

/// Orders 2,000 numbers and 500 words.
#[no_mangle]
pub extern "C" fn sort(n: i32) -> i64 {
    let mut state = 88172645463325252;
    let mut total = 0;
    for _ in 0..n {
        let mut numbers: Vec<u64> = (0..2000).map(|_| random(&mut state)).collect();
        let mut words: Vec<String> = (0..500).map(|_| (random(&mut state) % 100_000).to_string()).collect();
        numbers.sort();
        words.sort();
        total += (numbers[1000] >> 8) as i64 + words[250].len() as i64;
    }
    total
}

/// Multiplies two matrices of 32 by 32 numbers.
#[no_mangle]
pub extern "C" fn matrix(n: i32) -> i64 {
    const SIZE: usize = 32;
    let square = |step: usize| -> Vec<Vec<f64>> {
        (0..SIZE).map(|i| (0..SIZE).map(|k| (i * k % step) as f64 / 100.0).collect()).collect()
    };
    let (mut a, b, mut c) = (square(7), square(5), square(3));
    for _ in 0..n {
        for i in 0..SIZE {
            for k in 0..SIZE {
                c[i][k] = (0..SIZE).map(|j| a[i][j] * b[j][k]).sum();
            }
        }
        std::mem::swap(&mut a, &mut c);
        a[0][0] = 1.0;
    }
    a[SIZE - 1][SIZE - 1] as i64
}

enum Value {
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text[self.at]
    }

    fn string(&mut self) -> String {
        let start = self.at + 1;
        self.at = start;
        while self.text[self.at] != b'"' {
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8_lossy(&self.text[start..self.at - 1]).into_owned()
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            b'"' => Value::Text(self.string()),
            b'[' => {
                let mut list = Vec::new();
                while self.text[self.at] != b']' {
                    self.at += 1;
                    list.push(self.value());
                    self.peek();
                }
                self.at += 1;
                Value::List(list)
            }
            b'{' => {
                let mut object = BTreeMap::new();
                while self.text[self.at] != b'}' {
                    self.at += 1;
                    self.peek();
                    let key = self.string();
                    self.peek();
                    self.at += 1;
                    object.insert(key, self.value());
                    self.peek();
                }
                self.at += 1;
                Value::Object(object)
            }
            _ => {
                let start = self.at;
                while matches!(self.text[self.at], b'0'..=b'9' | b'.' | b'-') {
                    self.at += 1;
                }
                Value::Number(std::str::from_utf8(&self.text[start..self.at]).unwrap().parse().unwrap())
            }
        }
    }
}

fn size(v: &Value) -> i64 {
    match v {
        Value::Number(n) => *n as i64,
        Value::Text(s) => s.len() as i64,
        Value::List(list) => list.iter().map(size).sum(),
        Value::Object(o) => o.iter().map(|(k, v)| k.len() as i64 + size(v)).sum(),
    }
}

/// Parses a JSON document of 20 objects.
#[no_mangle]
pub extern "C" fn json(n: i32) -> i64 {
    let one = r#"{"id": 17, "name": "an order", "price": 12.25, "tags": ["a", "bc", "def"], "notes": {"x": "y"}}"#;
    let text = format!("[{}]", vec![one; 20].join(", "));
    (0..n).map(|_| size(&Parser { text: text.as_bytes(), at: 0 }.value())).sum()
}

/// A backtracking matcher of patterns with `.`, `*` behind a character, and
/// `\d` for digits.
fn matches(pattern: &[u8], text: &[u8]) -> Option<usize> {
    if pattern.is_empty() {
        return Some(0);
    }
    let width = if pattern[0] == b'\\' { 2 } else { 1 };
    let first = |c: u8| match pattern[0] {
        b'.' => true,
        b'\\' => c.is_ascii_digit(),
        p => p == c,
    };
    if pattern.get(width) == Some(&b'*') {
        let most = text.iter().take_while(|c| first(**c)).count();
        return (0..=most).rev().find_map(|n| Some(n + matches(&pattern[width + 1..], &text[n..])?));
    }
    if text.is_empty() || !first(text[0]) {
        return None;
    }
    Some(1 + matches(&pattern[width..], &text[1..])?)
}

/// Finds telephone numbers in 2 KiB of text.
#[no_mangle]
pub extern "C" fn regex(n: i32) -> i64 {
    let text = "some words, then someone@mail.example.org and 555-1234, and more words after that. ".repeat(25);
    let mut total = 0;
    for _ in 0..n {
        for at in 0..text.len() {
            total += matches(br"\d\d*-\d\d\d*", &text.as_bytes()[at..]).unwrap_or(0) as i64;
            total += matches(b"e.*org", &text.as_bytes()[at..(at + 40).min(text.len())]).unwrap_or(0) as i64;
        }
    }
    total
}
