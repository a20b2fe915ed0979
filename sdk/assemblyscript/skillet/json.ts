// JSON (RFC 8259) in UTF-8, without any of the compiler's library but strings, arrays and maps.
import { parseDouble } from "./decimal";
import { Kind } from "./host";
import { Failure, Some } from "./result";

/** How deep arrays and objects can be in each other. */
export const MAX_DEPTH: i32 = 128;

/** What a value is. */
export enum Type {
  Null,
  Bool,
  Number,
  Text,
  List,
  Object,
}

/** Any JSON value. */
export class Value {
  /** The text, or the digits of a number. */
  text: string = "";
  flag: bool = false;
  /** The elements of a list, or the values of an object, whose names are in `names`. */
  items: Value[] = [];
  names: string[] = [];

  constructor(public type: Type) {}

  /** The member of an object, or null. Of two with one name it is the last. */
  get(name: string): Value | null {
    for (let i = this.names.length - 1; i >= 0; i--) {
      if (this.names[i] == name) return this.items[i];
    }
    return null;
  }

  /** What it is, for errors. */
  called(): string {
    switch (this.type) {
      case Type.Null: return "null";
      case Type.Bool: return "true or false";
      case Type.Number: return "this number";
      case Type.Text: return "a string";
      case Type.List: return "an array";
      default: return "an object";
    }
  }
}

/** Reads a whole JSON text. Null is for one that is malformed, or too deep. */
export function parse(json: Uint8Array): Value | null {
  const p = new Parser(json);
  p.space();
  const value = p.value(0);
  p.space();
  return p.bad || p.at < p.end ? null : value;
}

class Parser {
  at: usize;
  end: usize;
  bad: bool = false;

  // The bytes are kept, so that what at points to stays.
  constructor(private json: Uint8Array) {
    this.at = json.dataStart;
    this.end = json.dataStart + json.length;
  }

  peek(): i32 {
    return this.at < this.end ? <i32>load<u8>(this.at) : -1;
  }

  space(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09; c = this.peek()) this.at++;
  }

  // take goes on behind a character when it is there.
  take(c: i32): bool {
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  wrong(): Value {
    this.bad = true;
    this.at = this.end;
    return new Value(Type.Null);
  }

  value(depth: i32): Value {
    if (depth > MAX_DEPTH) return this.wrong();
    const c = this.peek();
    switch (c) {
      case 0x7b: return this.object(depth);
      case 0x5b: return this.list(depth);
      case 0x22: {
        const v = new Value(Type.Text);
        v.text = this.string();
        return v;
      }
      case 0x74: return this.word("true", Type.Bool, true);
      case 0x66: return this.word("false", Type.Bool, false);
      case 0x6e: return this.word("null", Type.Null, false);
      default: return this.number();
    }
  }

  word(text: string, type: Type, flag: bool): Value {
    for (let i = 0; i < text.length; i++) {
      if (!this.take(text.charCodeAt(i))) return this.wrong();
    }
    const v = new Value(type);
    v.flag = flag;
    return v;
  }

  list(depth: i32): Value {
    const v = new Value(Type.List);
    this.at++;
    this.space();
    if (this.take(0x5d)) return v;
    do {
      this.space();
      v.items.push(this.value(depth + 1));
      this.space();
    } while (this.take(0x2c));
    return this.take(0x5d) ? v : this.wrong();
  }

  object(depth: i32): Value {
    const v = new Value(Type.Object);
    this.at++;
    this.space();
    if (this.take(0x7d)) return v;
    do {
      this.space();
      if (this.peek() != 0x22) return this.wrong();
      v.names.push(this.string());
      this.space();
      if (!this.take(0x3a)) return this.wrong();
      this.space();
      v.items.push(this.value(depth + 1));
      this.space();
    } while (this.take(0x2c));
    return this.take(0x7d) ? v : this.wrong();
  }

  digits(): bool {
    const from = this.at;
    for (let c = this.peek(); c >= 0x30 && c <= 0x39; c = this.peek()) this.at++;
    return this.at > from;
  }

  number(): Value {
    const from = this.at;
    this.take(0x2d);
    if (!this.take(0x30) && !this.digits()) return this.wrong();
    if (this.take(0x2e) && !this.digits()) return this.wrong();
    if (this.take(0x65) || this.take(0x45)) {
      if (!this.take(0x2b)) this.take(0x2d);
      if (!this.digits()) return this.wrong();
    }
    const v = new Value(Type.Number);
    v.text = String.UTF8.decodeUnsafe(from, this.at - from);
    return v;
  }

  // string reads one, of which the quote is next. Pieces without escapes are decoded as they are.
  string(): string {
    this.at++;
    let from = this.at;
    let pieces: string[] | null = null;
    while (this.at < this.end) {
      const c = load<u8>(this.at);
      if (c == 0x22 || c == 0x5c) {
        const piece = String.UTF8.decodeUnsafe(from, this.at - from);
        this.at++;
        if (c == 0x22) {
          if (pieces === null) return piece;
          pieces.push(piece);
          return pieces.join("");
        }
        if (pieces === null) pieces = new Array<string>();
        pieces.push(piece);
        pieces.push(this.escape());
        from = this.at;
      } else if (c < 0x20) break;
      else this.at++;
    }
    this.wrong();
    return "";
  }

  escape(): string {
    const c = this.peek();
    this.at++;
    switch (c) {
      case 0x22: case 0x5c: case 0x2f: return String.fromCharCode(c);
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x75: return String.fromCharCode(this.hex());
    }
    this.wrong();
    return "";
  }

  hex(): i32 {
    let code = 0;
    for (let i = 0; i < 4; i++) {
      const c = this.peek() | 0x20;
      let digit = -1;
      if (this.at < this.end && c >= 0x30 && c <= 0x39 && this.peek() >= 0x30) digit = c - 0x30;
      else if (c >= 0x61 && c <= 0x66) digit = c - 0x57;
      if (digit < 0) {
        this.wrong();
        return 0;
      }
      code = code << 4 | digit;
      this.at++;
    }
    return code;
  }
}

// What is wrong first, shared by all readers of one text.
class Trouble {
  first: Failure | null = null;
}

/**
 * Reads the members of an object. A member that is missing or null is its fallback. The first one that is of another
 * type is kept as the failure, and read as its fallback: look at `failure` when everything has been read, before
 * anything is done.
 */
export class Reader {
  /** Made by `read`. */
  constructor(private object: Value, private path: string, private trouble: Trouble) {}

  /** What is wrong, if anything. */
  get failure(): Failure | null {
    return this.trouble.first;
  }

  /** The object itself. */
  get value(): Value {
    return this.object;
  }

  /** Whether there is a member that is not null. */
  has(name: string): bool {
    return this.find(name) !== null;
  }

  text(name: string, fallback: string = ""): string {
    const v = this.typed(name, Type.Text, "a string");
    return v === null ? fallback : v.text;
  }

  /** A text, or null when there is none. */
  maybeText(name: string): string | null {
    const v = this.typed(name, Type.Text, "a string");
    return v === null ? null : v.text;
  }

  flag(name: string, fallback: bool = false): bool {
    const v = this.typed(name, Type.Bool, "true or false");
    return v === null ? fallback : v.flag;
  }

  int(name: string, fallback: i64 = 0): i64 {
    const v = this.typed(name, Type.Number, WHOLE);
    return v === null ? fallback : this.whole(v, this.inside(name));
  }

  uint(name: string, fallback: u64 = 0): u64 {
    const v = this.typed(name, Type.Number, WHOLE);
    if (v === null) return fallback;
    if (!isWhole(v.text) || v.text.charCodeAt(0) == 0x2d && v.text != "-0") {
      this.wrong(v, WHOLE, this.inside(name));
      return 0;
    }
    return magnitude(v.text);
  }

  float(name: string, fallback: f64 = 0): f64 {
    const v = this.typed(name, Type.Number, "a number");
    if (v === null) return fallback;
    const value = parseDouble(v.text);
    if (isFinite(value)) return value;
    this.wrong(v, "a number in range", this.inside(name));
    return 0;
  }

  /** A number, or null when there is none. */
  maybeFloat(name: string): Some<f64> | null {
    return this.has(name) ? new Some<f64>(this.float(name)) : null;
  }

  /** A whole number, or null when there is none. */
  maybeUint(name: string): Some<u64> | null {
    return this.has(name) ? new Some<u64>(this.uint(name)) : null;
  }

  /** A list of texts. */
  texts(name: string): string[] {
    return this.textsOf(this.typed(name, Type.List, "an array"), this.inside(name));
  }

  /** A list of whole numbers. */
  ints(name: string): i64[] {
    const all = new Array<i64>();
    const v = this.typed(name, Type.List, "an array");
    if (v === null) return all;
    for (let i = 0; i < v.items.length; i++) {
      const at = this.inside(name) + "[" + i.toString() + "]";
      if (this.is(v.items[i], Type.Number, WHOLE, at)) all.push(this.whole(v.items[i], at));
    }
    return all;
  }

  /** An object whose values are texts. */
  map(name: string): Map<string, string> {
    const all = new Map<string, string>();
    const v = this.typed(name, Type.Object, "an object");
    if (v === null) return all;
    for (let i = 0; i < v.names.length; i++) {
      if (this.is(v.items[i], Type.Text, "a string", this.inside(name) + "." + v.names[i])) all.set(v.names[i], v.items[i].text);
    }
    return all;
  }

  /** An object whose values are lists of texts. */
  lists(name: string): Map<string, string[]> {
    const all = new Map<string, string[]>();
    const v = this.typed(name, Type.Object, "an object");
    if (v === null) return all;
    for (let i = 0; i < v.names.length; i++) {
      const at = this.inside(name) + "." + v.names[i];
      if (this.is(v.items[i], Type.List, "an array", at)) all.set(v.names[i], this.textsOf(v.items[i], at));
    }
    return all;
  }

  /** An object, of which one that is missing is empty. */
  child(name: string): Reader {
    const v = this.typed(name, Type.Object, "an object");
    return new Reader(v === null ? new Value(Type.Object) : v, this.inside(name), this.trouble);
  }

  /** A list of objects. */
  objects(name: string): Reader[] {
    const all = new Array<Reader>();
    const v = this.typed(name, Type.List, "an array");
    if (v === null) return all;
    for (let i = 0; i < v.items.length; i++) {
      const at = this.inside(name) + "[" + i.toString() + "]";
      if (this.is(v.items[i], Type.Object, "an object", at)) all.push(new Reader(v.items[i], at, this.trouble));
    }
    return all;
  }

  private inside(name: string): string {
    return this.path == "" ? name : this.path + "." + name;
  }

  private find(name: string): Value | null {
    const v = this.object.get(name);
    return v === null || v.type == Type.Null ? null : v;
  }

  private typed(name: string, type: Type, expected: string): Value | null {
    const v = this.find(name);
    return v === null || !this.is(v, type, expected, this.inside(name)) ? null : v;
  }

  private is(v: Value, type: Type, expected: string, at: string): bool {
    if (v.type == type) return true;
    this.wrong(v, expected, at);
    return false;
  }

  private whole(v: Value, at: string): i64 {
    const negative = v.text.charCodeAt(0) == 0x2d;
    if (isWhole(v.text)) {
      const n = magnitude(v.text);
      if (n <= <u64>i64.MAX_VALUE + u64(negative)) return negative ? -(<i64>n) : <i64>n;
    }
    this.wrong(v, WHOLE, at);
    return 0;
  }

  private textsOf(v: Value | null, at: string): string[] {
    const all = new Array<string>();
    if (v === null) return all;
    for (let i = 0; i < v.items.length; i++) {
      if (this.is(v.items[i], Type.Text, "a string", at + "[" + i.toString() + "]")) all.push(v.items[i].text);
    }
    return all;
  }

  private wrong(v: Value, expected: string, at: string): void {
    if (this.trouble.first === null) this.trouble.first = new Failure(Kind.Invalid, at + ": must be " + expected + ", not " + v.called());
  }
}

const WHOLE = "a whole number in range";

// isWhole says whether a number has digits only, and as many as fit.
function isWhole(text: string): bool {
  const from = text.charCodeAt(0) == 0x2d ? 1 : 0;
  if (text.length - from > 20) return false;
  for (let i = from; i < text.length; i++) {
    if (text.charCodeAt(i) < 0x30 || text.charCodeAt(i) > 0x39) return false;
  }
  // The largest of 20 digits is 18446744073709551615.
  return text.length - from < 20 || text.substring(from) <= "18446744073709551615";
}

// magnitude is the value of a whole number without its sign.
function magnitude(text: string): u64 {
  let value: u64 = 0;
  for (let i = text.charCodeAt(0) == 0x2d ? 1 : 0; i < text.length; i++) value = value * 10 + (text.charCodeAt(i) - 0x30);
  return value;
}

/** Reads an object; null is for what is none, or no JSON. No bytes at all are an empty object. */
export function read(json: Uint8Array): Reader | null {
  const v = isBlank(json) ? new Value(Type.Object) : parse(json);
  return v === null || v.type != Type.Object ? null : new Reader(v, "", new Trouble());
}

function isBlank(json: Uint8Array): bool {
  for (let i = 0; i < json.length; i++) {
    const c = json[i];
    if (c != 0x20 && c != 0x0a && c != 0x0d && c != 0x09) return false;
  }
  return true;
}

/**
 * Writes JSON: the members of an object, and what is in them. Between beginList and endList there are no names: leave
 * them empty.
 */
export class Writer {
  private bytes: Uint8Array = new Uint8Array(256);
  private length: i32 = 0;
  private first: bool = true;
  private inList: bool[] = [];

  constructor() {
    this.byte(0x7b);
  }

  text(name: string, value: string): void {
    this.name(name);
    this.quoted(value);
  }

  /** A text, or null. */
  maybeText(name: string, value: string | null): void {
    if (value === null) this.none(name);
    else this.text(name, value);
  }

  int(name: string, value: i64): void {
    this.name(name);
    this.ascii(value.toString());
  }

  uint(name: string, value: u64): void {
    this.name(name);
    this.ascii(value.toString());
  }

  /** A number; JSON has none that is infinite, which is null. */
  float(name: string, value: f64): void {
    this.name(name);
    this.ascii(isFinite(value) ? value.toString() : "null");
  }

  flag(name: string, value: bool): void {
    this.name(name);
    this.ascii(value ? "true" : "false");
  }

  /** Null. */
  none(name: string): void {
    this.name(name);
    this.ascii("null");
  }

  texts(name: string, values: string[]): void {
    this.beginList(name);
    for (let i = 0; i < values.length; i++) this.text("", values[i]);
    this.endList();
  }

  ints(name: string, values: i64[]): void {
    this.beginList(name);
    for (let i = 0; i < values.length; i++) this.int("", values[i]);
    this.endList();
  }

  map(name: string, values: Map<string, string>): void {
    this.beginObject(name);
    const keys = values.keys();
    for (let i = 0; i < keys.length; i++) this.text(keys[i], values.get(keys[i]));
    this.endObject();
  }

  lists(name: string, values: Map<string, string[]>): void {
    this.beginObject(name);
    const keys = values.keys();
    for (let i = 0; i < keys.length; i++) this.texts(keys[i], values.get(keys[i]));
    this.endObject();
  }

  beginObject(name: string): void {
    this.open(name, 0x7b, false);
  }

  endObject(): void {
    this.close(0x7d);
  }

  beginList(name: string): void {
    this.open(name, 0x5b, true);
  }

  endList(): void {
    this.close(0x5d);
  }

  /** Ends the object, and returns all of it. Nothing can be written afterwards. */
  finish(): Uint8Array {
    this.byte(0x7d);
    return this.bytes.subarray(0, this.length);
  }

  private open(name: string, bracket: u8, isList: bool): void {
    this.name(name);
    this.byte(bracket);
    this.inList.push(isList);
    this.first = true;
  }

  private close(bracket: u8): void {
    this.byte(bracket);
    this.inList.pop();
    this.first = false;
  }

  private name(name: string): void {
    if (!this.first) this.byte(0x2c);
    this.first = false;
    const n = this.inList.length;
    if (n > 0 && this.inList[n - 1]) return;
    this.quoted(name);
    this.byte(0x3a);
  }

  private room(n: i32): void {
    if (this.length + n <= this.bytes.length) return;
    const more = new Uint8Array(max(this.bytes.length * 2, this.length + n));
    memory.copy(more.dataStart, this.bytes.dataStart, this.length);
    this.bytes = more;
  }

  private byte(c: u8): void {
    this.room(1);
    store<u8>(this.bytes.dataStart + this.length++, c);
  }

  private ascii(text: string): void {
    this.room(text.length);
    for (let i = 0; i < text.length; i++) store<u8>(this.bytes.dataStart + this.length + i, <u8>text.charCodeAt(i));
    this.length += text.length;
  }

  // quoted writes a string. A half of a pair that stands alone is U+FFFD.
  private quoted(text: string): void {
    this.room(text.length + 2);
    this.byte(0x22);
    for (let i = 0; i < text.length; i++) {
      let c = <u32>text.charCodeAt(i);
      if (c == 0x22 || c == 0x5c) this.byte(0x5c);
      if (c < 0x20) this.control(<u8>c);
      else if (c < 0x80) this.byte(<u8>c);
      else {
        const next = i + 1 < text.length ? <u32>text.charCodeAt(i + 1) : 0;
        if (c >= 0xd800 && c < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
          c = 0x10000 + ((c - 0xd800) << 10) + next - 0xdc00;
          i++;
        } else if (c >= 0xd800 && c < 0xe000) c = 0xfffd;
        this.encoded(c);
      }
    }
    this.byte(0x22);
  }

  private control(c: u8): void {
    this.ascii("\\u00");
    this.byte(c < 0x10 ? 0x30 : 0x31);
    this.byte((c & 15) < 10 ? 0x30 + (c & 15) : 0x57 + (c & 15));
  }

  private encoded(c: u32): void {
    if (c < 0x800) this.byte(<u8>(0xc0 | c >> 6));
    else {
      if (c < 0x10000) this.byte(<u8>(0xe0 | c >> 12));
      else {
        this.byte(<u8>(0xf0 | c >> 18));
        this.byte(<u8>(0x80 | c >> 12 & 63));
      }
      this.byte(<u8>(0x80 | c >> 6 & 63));
    }
    this.byte(<u8>(0x80 | c & 63));
  }
}
