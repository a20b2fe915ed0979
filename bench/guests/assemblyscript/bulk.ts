// The text guest over skillet:host/v1.
import { figures } from "./text";

// @ts-ignore: decorator
@external("skillet:host/v1", "input_length")
declare function input_length(): u64;
// @ts-ignore: decorator
@external("skillet:host/v1", "input_read")
declare function input_read(to: usize, offset: u64, length: u32): u32;
// @ts-ignore: decorator
@external("skillet:host/v1", "output_write")
declare function output_write(from: usize, length: u32): void;

function read(length: usize): usize {
  const to = heap.alloc(length);
  input_read(to, 0, <u32>length);
  return to;
}

export function count(): i32 {
  const length = <usize>input_length();
  const text = read(length);
  const answer = figures(text, length);
  output_write(changetype<usize>(answer), answer.byteLength);
  heap.free(text);
  __collect();
  return 0;
}

export function echo(): i32 {
  const length = <usize>input_length();
  const text = read(length);
  output_write(text, <u32>length);
  heap.free(text);
  return 0;
}
