// Decimal numbers to doubles, exactly: the nearest one, of two that are as near the even one (IEEE 754).

// A number of up to 160 limbs: those there can be have 3,900 bits at most.
const LIMBS = 160;
const MAX_DIGITS = 800; // 767 decide the value of any double; what is behind only says that there is more

class Big {
  limbs: StaticArray<u32> = new StaticArray<u32>(LIMBS);
  n: i32 = 0;

  /** this = this * by + plus */
  mulAdd(by: u32, plus: u32): void {
    let carry: u64 = plus;
    for (let i = 0; i < this.n; i++) {
      carry += <u64>this.limbs[i] * by;
      this.limbs[i] = <u32>carry;
      carry >>= 32;
    }
    if (carry != 0) this.limbs[this.n++] = <u32>carry;
  }

  mulPow10(exponent: i32): void {
    for (; exponent >= 9; exponent -= 9) this.mulAdd(1000000000, 0);
    for (; exponent > 0; exponent--) this.mulAdd(10, 0);
  }

  bits(): i32 {
    return this.n == 0 ? 0 : 32 * this.n - clz<u32>(this.limbs[this.n - 1]);
  }

  shiftLeft(by: i32): void {
    const whole = by >> 5, part = <u32>(by & 31);
    for (let i = this.n; i >= 0; i--) {
      let limb: u64 = i < this.n ? <u64>this.limbs[i] << part : 0;
      if (i > 0) limb |= (<u64>this.limbs[i - 1] << part) >> 32;
      this.limbs[i + whole] = <u32>limb;
    }
    for (let i = 0; i < whole; i++) this.limbs[i] = 0;
    this.n += whole + 1;
    this.trim();
  }

  halve(): void {
    for (let i = 0; i < this.n; i++) {
      const above: u32 = i + 1 < this.n ? this.limbs[i + 1] : 0;
      this.limbs[i] = this.limbs[i] >> 1 | above << 31;
    }
    this.trim();
  }

  trim(): void {
    while (this.n > 0 && this.limbs[this.n - 1] == 0) this.n--;
  }

  less(than: Big): bool {
    if (this.n != than.n) return this.n < than.n;
    for (let i = this.n - 1; i >= 0; i--) {
      if (this.limbs[i] != than.limbs[i]) return this.limbs[i] < than.limbs[i];
    }
    return false;
  }

  /** this -= by, which is not more. */
  subtract(by: Big): void {
    let borrow: i64 = 0;
    for (let i = 0; i < this.n; i++) {
      borrow += <i64>this.limbs[i] - (i < by.n ? <i64>by.limbs[i] : 0);
      this.limbs[i] = <u32>borrow;
      borrow >>= 32;
    }
    this.trim();
  }
}

/** Returns the double that a number in JSON's form means; one that is too large is infinite. */
export function parseDouble(text: string): f64 {
  const negative = text.charCodeAt(0) == 0x2d;
  const digits = new Array<i32>();
  let exponent = 0, point = false, more = false, i = negative ? 1 : 0;
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 0x2e) point = true;
    else if (c < 0x30 || c > 0x39) break;
    else {
      if (point) exponent--;
      if (digits.length == 0 && c == 0x30) continue;
      if (digits.length < MAX_DIGITS) digits.push(c - 0x30);
      else {
        exponent++;
        more = more || c != 0x30;
      }
    }
  }
  exponent += written(text, i + 1);
  if (more) {
    digits.push(1);
    exponent--;
  }
  const value = digits.length == 0 ? 0.0 : nearest(digits, exponent);
  return negative ? -value : value;
}

// written is the exponent that stands in a number behind its e; what is beyond any double is cut.
function written(text: string, at: i32): i32 {
  let value = 0, sign = 1;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c == 0x2d) sign = -1;
    else if (c != 0x2b) value = min(value * 10 + c - 0x30, 1000000);
  }
  return sign * value;
}

// nearest returns the double nearest to the digits, as a whole number, times ten to the exponent.
function nearest(digits: Array<i32>, exponent: i32): f64 {
  const magnitude = digits.length + exponent;
  if (magnitude > 310) return Infinity;
  if (magnitude < -330) return 0;
  if (digits.length <= 15 && exponent >= -22 && exponent <= 22) return exact(digits, exponent);
  const over = new Big(), under = new Big();
  for (let i = 0; i < digits.length; i++) over.mulAdd(10, digits[i]);
  under.mulAdd(1, 1);
  if (exponent >= 0) over.mulPow10(exponent);
  else under.mulPow10(-exponent);
  return divided(over, under);
}

// exact is for numbers of which the digits and the power of ten are doubles themselves: then there is one rounding.
function exact(digits: Array<i32>, exponent: i32): f64 {
  let value: f64 = 0, power: f64 = 1;
  for (let i = 0; i < digits.length; i++) value = value * 10 + <f64>digits[i];
  for (let i = 0; i < abs(exponent); i++) power *= 10;
  return exponent < 0 ? value / power : value * power;
}

// divided returns the double nearest to a quotient.
function divided(over: Big, under: Big): f64 {
  const scale = 63 - (over.bits() - under.bits());
  if (scale > 0) over.shiftLeft(scale);
  else if (scale < 0) under.shiftLeft(-scale);
  under.shiftLeft(63);
  let quotient: u64 = 0; // from 2^62 to 2^64
  for (let i = 0; i < 64; i++) {
    quotient <<= 1;
    if (!over.less(under)) {
      over.subtract(under);
      quotient |= 1;
    }
    under.halve();
  }
  return rounded(quotient, scale, over.n > 0);
}

// rounded returns the double nearest to quotient / 2^scale, and a bit more than it when there is a rest.
function rounded(quotient: u64, scale: i32, rest: bool): f64 {
  const length = 64 - <i32>clz<u64>(quotient), top = length - 1 - scale;
  const precision = top >= -1022 ? 53 : 53 - (-1022 - top);
  if (precision < 0) return 0;
  const drop = length - precision;
  let kept: u64 = drop >= 64 ? 0 : quotient >> drop;
  const lost: u64 = drop >= 64 ? quotient : quotient & ((<u64>1 << drop) - 1);
  const half: u64 = <u64>1 << (drop - 1);
  if (lost > half || lost == half && (rest || (kept & 1) == 1)) kept++;
  if (top > 1023) return Infinity;
  if (top >= -1022) kept += <u64>(top + 1022) << 52;
  return reinterpret<f64>(kept);
}
