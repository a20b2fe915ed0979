// Input and output of a guest over either of the two interfaces: define
// EXTISM for extism:host/env, else it is skillet:host/v1. A guest without libc
// has a heap that grows and is given back whole at the start of a call; one
// with libc defines heap_take as malloc.
#ifndef BENCH_IO_H
#define BENCH_IO_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

#ifndef heap_take

extern uint8_t __heap_base;

static uintptr_t heap_next;

static void heap_reset(void) { heap_next = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15; }

// heap_take returns n bytes, or traps when memory has run out.
static uint8_t *heap_take(size_t n) {
	const size_t page = 65536;
	uintptr_t start = heap_next;
	uintptr_t end = (start + n + 15) & ~(uintptr_t)15;
	size_t have = __builtin_wasm_memory_size(0) * page;
	if (end > have && __builtin_wasm_memory_grow(0, (end - have + page - 1) / page) == (size_t)-1) {
		__builtin_trap();
	}
	heap_next = end;
	return (uint8_t *)start;
}

#endif

#ifdef EXTISM

IMPORT("extism:host/env", "input_length") uint64_t input_length(void);
IMPORT("extism:host/env", "input_load_u8") uint32_t input_load_u8(uint64_t offset);
IMPORT("extism:host/env", "input_load_u64") uint64_t input_load_u64(uint64_t offset);
IMPORT("extism:host/env", "alloc") uint64_t alloc(uint64_t length);
IMPORT("extism:host/env", "store_u8") void store_u8(uint64_t offset, uint32_t value);
IMPORT("extism:host/env", "store_u64") void store_u64(uint64_t offset, uint64_t value);
IMPORT("extism:host/env", "output_set") void output_set(uint64_t offset, uint64_t length);

static uint8_t *input(size_t *length) {
	size_t n = *length = (size_t)input_length();
	uint8_t *to = heap_take(n);
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		*(uint64_t *)(to + i) = input_load_u64(i);
	}
	for (; i < n; i++) {
		to[i] = (uint8_t)input_load_u8(i);
	}
	return to;
}

static void output(const uint8_t *from, size_t n) {
	uint64_t block = alloc(n);
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		store_u64(block + i, *(const uint64_t *)(from + i));
	}
	for (; i < n; i++) {
		store_u8(block + i, from[i]);
	}
	output_set(block, n);
}

#else

IMPORT("skillet:host/v1", "input_length") uint64_t input_length(void);
IMPORT("skillet:host/v1", "input_read") uint32_t input_read(void *to, uint64_t offset, uint32_t length);
IMPORT("skillet:host/v1", "output_write") void output_write(const void *from, uint32_t length);

static uint8_t *input(size_t *length) {
	*length = (size_t)input_length();
	uint8_t *to = heap_take(*length);
	*length = input_read(to, 0, (uint32_t)*length);
	return to;
}

static void output(const uint8_t *from, size_t n) { output_write(from, (uint32_t)n); }

#endif
#endif
