//! Regular expressions by simulating a nondeterministic machine (Pike's way),
//! leftmost-first as in RE2: literals, classes, groups, `|`, `*`, `+`, `?`.

enum Op {
    Class([bool; 256]),
    Split(usize, usize), // the first is preferred
    Jump(usize),
    Match,
}

pub struct Program(Vec<Op>);

pub fn compile(pattern: &[u8]) -> Program {
    let mut compiler = Compiler { pattern, at: 0, ops: Vec::new() };
    compiler.alternatives();
    compiler.ops.push(Op::Match);
    Program(compiler.ops)
}

struct Compiler<'a> {
    pattern: &'a [u8],
    at: usize,
    ops: Vec<Op>,
}

impl Compiler<'_> {
    fn peek(&self) -> u8 {
        self.pattern.get(self.at).copied().unwrap_or(0)
    }

    fn alternatives(&mut self) {
        let start = self.ops.len();
        self.sequence();
        if self.peek() != b'|' {
            return;
        }
        self.at += 1;
        self.insert(start, Op::Split(start + 1, self.ops.len() + 2));
        let jump = self.ops.len();
        self.ops.push(Op::Jump(0));
        self.alternatives();
        self.ops[jump] = Op::Jump(self.ops.len());
    }

    /// Puts op before what was compiled since at, and moves its targets.
    fn insert(&mut self, at: usize, op: Op) {
        for old in &mut self.ops[at..] {
            match old {
                Op::Split(a, b) => (*a, *b) = (*a + 1, *b + 1),
                Op::Jump(a) => *a += 1,
                _ => {}
            }
        }
        self.ops.insert(at, op);
    }

    fn sequence(&mut self) {
        while !matches!(self.peek(), 0 | b'|' | b')') {
            let start = self.ops.len();
            self.atom();
            let end = self.ops.len();
            match self.peek() {
                b'+' => self.ops.push(Op::Split(start, end + 1)),
                b'?' => self.insert(start, Op::Split(start + 1, end + 1)),
                b'*' => {
                    self.insert(start, Op::Split(start + 1, end + 2));
                    self.ops.push(Op::Jump(start));
                }
                _ => continue,
            }
            self.at += 1;
        }
    }

    fn atom(&mut self) {
        let c = self.peek();
        self.at += 1;
        match c {
            b'(' => {
                self.alternatives();
                self.at += 1;
            }
            b'[' => self.class(),
            b'\\' => {
                self.at += 1;
                self.literal(self.pattern[self.at - 1]);
            }
            _ => self.literal(c),
        }
    }

    fn literal(&mut self, c: u8) {
        let mut set = [false; 256];
        set[c as usize] = true;
        self.ops.push(Op::Class(set));
    }

    fn class(&mut self) {
        let mut set = [false; 256];
        while self.peek() != b']' {
            let from = self.peek();
            let mut to = from;
            self.at += 1;
            if self.peek() == b'-' {
                to = self.pattern[self.at + 1];
                self.at += 2;
            }
            set[from as usize..=to as usize].fill(true);
        }
        self.at += 1;
        self.ops.push(Op::Class(set));
    }
}

/// Threads of the machine in order of preference, each with where it began.
struct Threads {
    list: Vec<(usize, usize)>,
    seen: Vec<usize>, // step at which an op was last added
}

impl Threads {
    fn new(size: usize) -> Self {
        Threads { list: Vec::with_capacity(size), seen: vec![usize::MAX; size] }
    }

    fn add(&mut self, program: &Program, op: usize, start: usize, step: usize) {
        if std::mem::replace(&mut self.seen[op], step) == step {
            return;
        }
        match program.0[op] {
            Op::Jump(to) => self.add(program, to, start, step),
            Op::Split(first, second) => {
                self.add(program, first, start, step);
                self.add(program, second, start, step);
            }
            _ => self.list.push((op, start)),
        }
    }
}

/// Returns the bounds of the first match at or after from.
pub fn find(program: &Program, text: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut now = Threads::new(program.0.len());
    let mut next = Threads::new(program.0.len());
    let mut found = None;
    for at in from..=text.len() {
        if found.is_none() {
            now.add(program, 0, at, at);
        }
        if now.list.is_empty() {
            break;
        }
        for &(op, start) in &now.list {
            match &program.0[op] {
                Op::Class(set) if at < text.len() && set[text[at] as usize] => {
                    next.add(program, op + 1, start, at + 1);
                }
                Op::Match => {
                    found = Some((start, at));
                    break;
                }
                _ => {}
            }
        }
        std::mem::swap(&mut now, &mut next);
        next.list.clear();
    }
    found
}
