// The text guest over extism:host/env.
import { figures } from "./text";

// @ts-ignore: decorator
@external("extism:host/env", "input_length")
declare function input_length(): u64;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u8")
declare function input_load_u8(offset: u64): u32;
// @ts-ignore: decorator
@external("extism:host/env", "input_load_u64")
declare function input_load_u64(offset: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "alloc")
declare function alloc(length: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "store_u8")
declare function store_u8(offset: u64, value: u32): void;
// @ts-ignore: decorator
@external("extism:host/env", "store_u64")
declare function store_u64(offset: u64, value: u64): void;
// @ts-ignore: decorator
@external("extism:host/env", "output_set")
declare function output_set(offset: u64, length: u64): void;

function read(length: usize): usize {
  const to = heap.alloc(length);
  let i: usize = 0;
  for (; i + 8 <= length; i += 8) store<u64>(to + i, input_load_u64(i));
  for (; i < length; i++) store<u8>(to + i, <u8>input_load_u8(i));
  return to;
}

function write(from: usize, length: usize): void {
  const block = alloc(length);
  let i: usize = 0;
  for (; i + 8 <= length; i += 8) store_u64(block + i, load<u64>(from + i));
  for (; i < length; i++) store_u8(block + i, load<u8>(from + i));
  output_set(block, length);
}

export function count(): i32 {
  const length = <usize>input_length();
  const text = read(length);
  const answer = figures(text, length);
  write(changetype<usize>(answer), answer.byteLength);
  heap.free(text);
  __collect();
  return 0;
}

export function echo(): i32 {
  const length = <usize>input_length();
  const text = read(length);
  write(text, length);
  heap.free(text);
  return 0;
}
