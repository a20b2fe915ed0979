//! Work without host calls, each tool over an amount given as a decimal number
//! in the input and answering with a number that is the same in every language.

#[path = "json.rs"]
mod json;
#[path = "regex.rs"]
mod regex;
#[path = "sha256.rs"]
mod sha256;

use bench_guests::{input, output};

/// Xorshift64*, the source of all test data.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Random(88172645463325252)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(2685821657736338717)
    }
}

fn answer(work: fn(u64) -> u64) -> i32 {
    let text = input();
    let Some(n) = std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()) else {
        return 1;
    };
    output(work(n).to_string().as_bytes());
    0
}

macro_rules! tools {
    ($($name:ident => $work:path),* $(,)?) => {
        $(#[no_mangle]
        pub extern "C" fn $name() -> i32 {
            answer($work)
        })*
    };
}

tools! {
    spin => run_loop,
    calls => run_calls,
    sha256 => run_sha256,
    sort => run_sort,
    matrix => run_matrix,
    json => run_json,
    regex => run_regex,
}

fn run_loop(n: u64) -> u64 {
    let mut random = Random::new();
    let mut last = 0;
    for _ in 0..n {
        last = random.next();
    }
    last
}

#[inline(never)]
fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    // What is called is not known to the compiler, so no call is folded away.
    std::hint::black_box(fibonacci as fn(u64) -> u64);
    fibonacci(n - 1).wrapping_add(fibonacci(n - 2))
}

fn run_calls(n: u64) -> u64 {
    fibonacci(n)
}

fn run_sha256(n: u64) -> u64 {
    let mut random = Random::new();
    let mut data = vec![0u8; 4096];
    for word in data.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    let mut sum = 0u64;
    for _ in 0..n {
        let digest = sha256::sum(&data);
        data[..32].copy_from_slice(&digest);
        sum ^= u64::from_be_bytes(digest[..8].try_into().unwrap());
    }
    sum
}

fn run_sort(n: u64) -> u64 {
    let mut random = Random::new();
    let mut data: Vec<u64> = (0..n).map(|_| random.next()).collect();
    data.sort_unstable();
    data.iter()
        .enumerate()
        .fold(0, |sum, (i, v)| sum.wrapping_add(v.wrapping_mul(i as u64)))
}

fn run_matrix(n: u64) -> u64 {
    let n = n as usize;
    let mut random = Random::new();
    let mut fill = || -> Vec<f64> {
        (0..n * n)
            .map(|_| (random.next() >> 11) as f64 / (1u64 << 53) as f64)
            .collect()
    };
    let (a, b) = (fill(), fill());
    let mut c = vec![0f64; n * n];
    for i in 0..n {
        for k in 0..n {
            let left = a[i * n + k];
            for j in 0..n {
                c[i * n + j] += left * b[k * n + j];
            }
        }
    }
    (0..n).map(|i| c[i * n + i]).sum::<f64>().to_bits()
}

fn records(n: u64) -> String {
    let mut random = Random::new();
    let mut text = String::from("[");
    for i in 0..n {
        let r = random.next();
        if i > 0 {
            text.push(',');
        }
        text.push_str(&format!(
            "{{\"id\":{},\"name\":\"user \\\"{}\\\"\",\"active\":{},\"scores\":[{},{},{}]}}",
            r >> 40,
            r % 1000,
            r & 1 == 1,
            r >> 56,
            (r >> 48) & 255,
            (r >> 40) & 255
        ));
    }
    text.push(']');
    text
}

fn run_json(n: u64) -> u64 {
    let json::Value::Array(records) = json::parse(records(n).as_bytes()) else {
        return 0;
    };
    records.iter().map(weight).fold(0, u64::wrapping_add)
}

fn weight(record: &json::Value) -> u64 {
    let json::Value::Object(fields) = record else {
        return 0;
    };
    fields
        .iter()
        .map(|(_, value)| match value {
            json::Value::Number(v) => *v as u64,
            json::Value::Text(v) => v.len() as u64,
            json::Value::Bool(v) => u64::from(*v),
            json::Value::Array(list) => list
                .iter()
                .map(|v| match v {
                    json::Value::Number(v) => *v as u64,
                    _ => 0,
                })
                .sum(),
            _ => 0,
        })
        .sum()
}

fn lines(n: u64) -> String {
    let mut random = Random::new();
    let mut text = String::new();
    for _ in 0..n {
        let r = random.next();
        let domain = ["com", "org", "example", "net"][(r & 3) as usize];
        text.push_str(&format!(
            "{:04} host{} user{}@mail{}.{} ok\n",
            r >> 52,
            r % 97,
            r % 1013,
            r % 31,
            domain
        ));
    }
    text
}

fn run_regex(n: u64) -> u64 {
    let program = regex::compile(b"[a-z0-9]+@[a-z0-9]+\\.(com|org|net)");
    let text = lines(n).into_bytes();
    let (mut from, mut sum) = (0, 0u64);
    while let Some((start, end)) = regex::find(&program, &text, from) {
        sum = sum.wrapping_add(1_000_003 * (end - start) as u64 + start as u64);
        from = end;
    }
    sum
}
