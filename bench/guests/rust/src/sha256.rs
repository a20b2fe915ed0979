//! SHA-256 as in FIPS 180-4.

const K: [u32; 64] = {
    // The first 32 bits of the fractional parts of the cube roots of the first
    // 64 primes (section 4.2.2), by integer arithmetic.
    let mut k = [0u32; 64];
    let mut prime = 2u128;
    let mut i = 0;
    while i < 64 {
        k[i] = root_fraction(prime, 3);
        prime = next_prime(prime);
        i += 1;
    }
    k
};

const START: [u32; 8] = {
    // The same of the square roots of the first eight primes (section 5.3.3).
    let mut h = [0u32; 8];
    let mut prime = 2u128;
    let mut i = 0;
    while i < 8 {
        h[i] = root_fraction(prime, 2);
        prime = next_prime(prime);
        i += 1;
    }
    h
};

const fn next_prime(after: u128) -> u128 {
    let mut n = after + 1;
    loop {
        let mut d = 2;
        while d * d <= n && n % d != 0 {
            d += 1;
        }
        if d * d > n {
            return n;
        }
        n += 1;
    }
}

/// The low 32 bits of floor(n^(1/degree) * 2^32).
const fn root_fraction(n: u128, degree: u32) -> u32 {
    let target = n << (32 * degree);
    let (mut low, mut high) = (0u128, 1u128 << 37);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if middle.pow(degree) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u32
}

pub fn sum(data: &[u8]) -> [u8; 32] {
    let mut state = START;
    let blocks = data.chunks_exact(64);
    let rest = blocks.remainder();
    for block in blocks {
        compress(&mut state, block.try_into().unwrap());
    }
    let mut tail = [0u8; 128];
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()] = 0x80;
    let length = if rest.len() < 56 { 64 } else { 128 };
    tail[length - 8..length].copy_from_slice(&(data.len() as u64 * 8).to_be_bytes());
    for block in tail[..length].chunks_exact(64) {
        compress(&mut state, block.try_into().unwrap());
    }
    let mut digest = [0u8; 32];
    for (to, word) in digest.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut w = [0u32; 64];
    for (i, word) in block.chunks_exact(4).enumerate() {
        w[i] = u32::from_be_bytes(word.try_into().unwrap());
    }
    for i in 16..64 {
        let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
        let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for i in 0..64 {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(K[i]).wrapping_add(w[i]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let t2 = s0.wrapping_add(majority);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    for (to, v) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *to = to.wrapping_add(v);
    }
}
