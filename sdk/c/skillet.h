// skillet.h is the guest side of a Skillet skill in C or C++: it reads the input of a tool call, writes its output or
// error, and calls the functions the host offers (files, HTTP, key-value state, secrets, log, notifications, other
// skills, models). It is C11 and C++17, one file, and needs no C library: with one it works as well.
//
//	#include "skillet.h"
//
//	SKILLET_TOOL(greet) {
//		skillet_str name = {0};
//		if (!skillet_get_string(in, "name", &name, err)) return false;
//		if (name.len == 0) return skillet_fail(err, SKILLET_INVALID, "name: must not be empty");
//		skillet_begin_object(out);
//		skillet_add_string(out, "greeting", skillet_textf("Hello, %t", name));
//		skillet_end_object(out);
//		return true;
//	}
//
// Build it as a reactor, for wasm32-wasi or wasm32-freestanding:
//
//	zig cc -target wasm32-wasi -mexec-model=reactor -O2 -Wl,--strip-all -Wl,-z,stack-size=131072 -o main.wasm main.c
//
// Functions that can fail return false and leave a kind and a message in *err. All memory comes from an arena that is
// never given back within a call; the host puts the module back to its beginning after each. When memory runs out, the
// module traps. A module imports only the host functions it uses, so its imports say what it can ask for.
#ifndef SKILLET_H
#define SKILLET_H

#ifndef __wasm__
#error "skillet.h is for modules: build for wasm32"
#endif

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// SKILLET_FN is what all functions here are: those that are not used leave nothing in the module.
#define SKILLET_FN static __attribute__((unused))
#define SKILLET_EXPORT(name) __attribute__((export_name(name)))
#define SKILLET_IMPORT(name) __attribute__((import_module("skillet:host/v1"), import_name(name)))

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wmissing-field-initializers"

#ifdef __cplusplus
#define SKILLET_C extern "C"
#define SKILLET_STR(literal) (skillet_str{"" literal, sizeof(literal) - 1})
#define SKILLET_ZERO(type) (type{})
#define SKILLET_UNSET {}
#else
#define SKILLET_C
#define SKILLET_STR(literal) ((skillet_str){"" literal, sizeof(literal) - 1})
#define SKILLET_ZERO(type) ((type){0})
#define SKILLET_UNSET
#endif

// skillet_str is text or bytes: len bytes from ptr on, with no zero behind them.
typedef struct {
	const char *ptr;
	size_t len;
} skillet_str;

// skillet_pair is a name with a value. Of a name with several values there are several.
typedef struct {
	skillet_str name, value;
} skillet_pair;

// --- memory ---

// Compilers call memcpy and memset of their own accord. Where there is neither a C library nor an instruction for them,
// they are here.
#if !defined(__wasm_bulk_memory__) && !defined(__wasi__)
SKILLET_C __attribute__((weak, no_builtin("memcpy"))) void *memcpy(void *to, const void *from, size_t n) {
	for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
	return to;
}
SKILLET_C __attribute__((weak, no_builtin("memset"))) void *memset(void *to, int byte, size_t n) {
	for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)byte;
	return to;
}
#endif

// skillet_copy copies n bytes that do not overlap.
SKILLET_FN void skillet_copy(void *to, const void *from, size_t n) { __builtin_memcpy(to, from, n); }

// The arena, which all files of a module share.
__attribute__((weak)) uintptr_t skillet_arena_next = 0;
__attribute__((weak)) uintptr_t skillet_arena_end = 0;
#ifndef __wasi__
extern unsigned char __heap_base;
#endif

// skillet_arena_grow makes room for n bytes. Pages that are new are nobody else's, so a C library's heap stays whole.
SKILLET_FN void skillet_arena_grow(size_t n) {
	const size_t page = 65536;
#ifndef __wasi__
	if (skillet_arena_end == 0) { // what is behind the data of a module without a C library
		skillet_arena_next = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
		skillet_arena_end = __builtin_wasm_memory_size(0) * page;
		if (n <= skillet_arena_end - skillet_arena_next) return;
	}
#endif
	size_t pages = n / page + 4;
	size_t at = __builtin_wasm_memory_grow(0, pages);
	if (at == (size_t)-1) __builtin_trap();
	if (at * page != skillet_arena_end) skillet_arena_next = at * page;
	skillet_arena_end = (at + pages) * page;
}

// skillet_alloc returns n bytes, aligned to 16, of any content.
SKILLET_FN void *skillet_alloc(size_t n) {
	if (n > (size_t)1 << 31) __builtin_trap();
	n = (n + 15) & ~(size_t)15;
	if (n > skillet_arena_end - skillet_arena_next) skillet_arena_grow(n);
	void *at = (void *)skillet_arena_next;
	skillet_arena_next += n;
	return at;
}

// skillet_buffer is bytes that grow. Zero is an empty one.
typedef struct {
	char *ptr;
	size_t len, cap;
} skillet_buffer;

// skillet_reserve makes room for n more bytes and returns where they go.
SKILLET_FN char *skillet_reserve(skillet_buffer *b, size_t n) {
	if (n > b->cap - b->len) {
		size_t cap = b->cap * 2 + n + 64;
		char *to = (char *)skillet_alloc(cap);
		if (b->len > 0) skillet_copy(to, b->ptr, b->len);
		b->ptr = to;
		b->cap = cap;
	}
	return b->ptr + b->len;
}

// skillet_put appends bytes.
SKILLET_FN void skillet_put(skillet_buffer *b, skillet_str s) {
	char *to = skillet_reserve(b, s.len);
	if (s.len > 0) skillet_copy(to, s.ptr, s.len);
	b->len += s.len;
}

SKILLET_FN void skillet_put_char(skillet_buffer *b, char c) {
	*skillet_reserve(b, 1) = c;
	b->len++;
}

// --- text ---

// skillet_text is a C string as a skillet_str.
SKILLET_FN skillet_str skillet_text(const char *s) {
	size_t n = 0;
	while (s[n] != 0) n++;
	skillet_str out = {s, n};
	return out;
}

SKILLET_FN bool skillet_equal(skillet_str a, skillet_str b) {
	if (a.len != b.len) return false;
	for (size_t i = 0; i < a.len; i++)
		if (a.ptr[i] != b.ptr[i]) return false;
	return true;
}

SKILLET_FN bool skillet_is(skillet_str a, const char *b) { return skillet_equal(a, skillet_text(b)); }

// skillet_put_number appends a whole number in decimal.
SKILLET_FN void skillet_put_number(skillet_buffer *b, uint64_t n, bool negative) {
	char digits[20];
	size_t at = sizeof digits;
	do digits[--at] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	if (negative) skillet_put_char(b, '-');
	skillet_str s = {digits + at, sizeof digits - at};
	skillet_put(b, s);
}

SKILLET_FN void skillet_put_signed(skillet_buffer *b, int64_t n) {
	skillet_put_number(b, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

// skillet_put_format appends a format, where %s is a C string, %t a skillet_str, %d an int, %l an int64_t, %c a char
// and %% a percent sign.
SKILLET_FN void skillet_put_format(skillet_buffer *b, const char *format, va_list args) {
	for (; *format != 0; format++) {
		if (*format != '%' || format[1] == 0) {
			skillet_put_char(b, *format);
			continue;
		}
		switch (*++format) {
		case 's': skillet_put(b, skillet_text(va_arg(args, const char *))); break;
		case 't': skillet_put(b, va_arg(args, skillet_str)); break;
		case 'd': skillet_put_signed(b, va_arg(args, int)); break;
		case 'l': skillet_put_signed(b, va_arg(args, int64_t)); break;
		case 'c': skillet_put_char(b, (char)va_arg(args, int)); break;
		default: skillet_put_char(b, *format);
		}
	}
}

// skillet_textf returns a new text; see skillet_put_format.
SKILLET_FN skillet_str skillet_textf(const char *format, ...) {
	skillet_buffer b = {0};
	va_list args;
	va_start(args, format);
	skillet_put_format(&b, format, args);
	va_end(args);
	skillet_str out = {b.ptr, b.len};
	return out;
}

// --- numbers: decimal and binary, both ways exact, without a C library ---

// skillet_big is a natural number of up to 4096 bits, which is enough for any double with 780 digits.
typedef struct {
	uint32_t limb[128];
	int n;
} skillet_big;

SKILLET_FN void skillet_big_multiply(skillet_big *b, uint32_t by, uint32_t add) {
	uint64_t carry = add;
	for (int i = 0; i < b->n; i++) {
		carry += (uint64_t)b->limb[i] * by;
		b->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry != 0) b->limb[b->n++] = (uint32_t)carry;
}

SKILLET_FN uint32_t skillet_big_divide(skillet_big *b, uint32_t by) {
	uint64_t rest = 0;
	for (int i = b->n - 1; i >= 0; i--) {
		rest = rest << 32 | b->limb[i];
		b->limb[i] = (uint32_t)(rest / by);
		rest %= by;
	}
	while (b->n > 0 && b->limb[b->n - 1] == 0) b->n--;
	return (uint32_t)rest;
}

SKILLET_FN int skillet_big_bits(const skillet_big *b) {
	return b->n == 0 ? 0 : 32 * b->n - __builtin_clz(b->limb[b->n - 1]);
}

SKILLET_FN void skillet_big_shift(skillet_big *b, int bits) {
	for (; bits >= 31; bits -= 31) skillet_big_multiply(b, 1u << 31, 0);
	skillet_big_multiply(b, 1u << bits, 0);
}

// skillet_big_top returns the 64 highest bits, with the highest one set, and whether any below them is.
SKILLET_FN uint64_t skillet_big_top(const skillet_big *b, bool *rest) {
	int low = skillet_big_bits(b) - 64;
	uint64_t top = 0;
	for (int i = 0; i < b->n; i++) {
		int at = 32 * i - low;
		if (at >= 0) top |= (uint64_t)b->limb[i] << at;
		else if (at > -32) {
			top |= (uint64_t)b->limb[i] >> -at;
			*rest = *rest || (b->limb[i] & ((1u << -at) - 1)) != 0;
		} else *rest = *rest || b->limb[i] != 0;
	}
	return top;
}

// skillet_round makes a double of top * 2^exponent, rounded to the nearest, to even when two are as near. It is false
// for what is too large.
SKILLET_FN bool skillet_round(uint64_t top, int exponent, bool rest, double *to) {
	int high = exponent + 63, shift = high < -1022 ? 11 - 1022 - high : 11;
	uint64_t kept = 0, cut = 0;
	if (shift < 64) {
		kept = top >> shift;
		cut = top << (64 - shift);
	} else if (shift == 64) cut = top;
	const uint64_t half = (uint64_t)1 << 63;
	if (cut > half || (cut == half && (rest || (kept & 1) != 0))) kept++;
	uint64_t bits = high < -1022 ? kept : ((uint64_t)(high + 1023) << 52) + (kept - ((uint64_t)1 << 52));
	if (high > 1023 || bits >= (uint64_t)0x7ff << 52) return false;
	__builtin_memcpy(to, &bits, sizeof bits);
	return true;
}

// skillet_parse_double reads a number as JSON writes it. It is false for one that no double is near to.
SKILLET_FN bool skillet_parse_double(skillet_str s, double *to) {
	skillet_big big = {{0}, 0};
	size_t at = 0;
	bool negative = s.len > 0 && s.ptr[0] == '-', point = false, rest = false;
	int digits = 0, exponent = 0;
	for (at = negative ? 1 : 0; at < s.len && (s.ptr[at] == '.' || (s.ptr[at] >= '0' && s.ptr[at] <= '9')); at++) {
		if (s.ptr[at] == '.') {
			point = true;
			continue;
		}
		if (point) exponent--;
		if (digits < 780) {
			skillet_big_multiply(&big, 10, (uint32_t)(s.ptr[at] - '0'));
			digits += big.n > 0;
		} else {
			rest = rest || s.ptr[at] != '0';
			exponent++;
		}
	}
	if (rest) big.limb[0] |= 1; // it only has to be seen that there is more
	if (at < s.len) {
		bool minus = s.ptr[++at] == '-';
		int given = 0;
		for (at += s.ptr[at] == '-' || s.ptr[at] == '+'; at < s.len; at++)
			if (given < 100000) given = given * 10 + (s.ptr[at] - '0');
		exponent += minus ? -given : given;
	}
	*to = 0;
	if (big.n > 0 && digits + exponent > 310) return false;
	int shift = 0;
	if (big.n > 0 && digits + exponent >= -330) {
		for (; exponent > 0; exponent--) skillet_big_multiply(&big, 10, 0);
		shift = 66 + (-exponent * 3322 + 999) / 1000 - skillet_big_bits(&big);
		if (shift < 0) shift = 0;
		skillet_big_shift(&big, shift);
		for (; exponent < 0; exponent += exponent <= -9 ? 9 : 1) {
			if (skillet_big_divide(&big, exponent <= -9 ? 1000000000u : 10u) != 0) rest = true;
		}
		uint64_t top = skillet_big_top(&big, &rest);
		if (!skillet_round(top, skillet_big_bits(&big) - 64 - shift, rest, to)) return false;
	}
	if (negative) *to = -*to;
	return true;
}

// skillet_decimal writes digits of a positive double, one to a char, and returns how many stand before the point.
SKILLET_FN int skillet_decimal(double v, char *digits, int want) {
	uint64_t bits;
	__builtin_memcpy(&bits, &v, sizeof bits);
	int exponent = (int)(bits >> 52 & 0x7ff);
	uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
	if (exponent != 0) mantissa |= (uint64_t)1 << 52;
	exponent = (exponent != 0 ? exponent : 1) - 1075;
	skillet_big big = {{(uint32_t)mantissa, (uint32_t)(mantissa >> 32)}, (mantissa >> 32) != 0 ? 2 : 1};
	int behind = exponent < 0 ? -exponent : 0;
	if (exponent > 0) skillet_big_shift(&big, exponent);
	for (int i = 0; i < behind; i++) skillet_big_multiply(&big, 5, 0);
	char all[800];
	int at = sizeof all;
	while (big.n > 0) {
		uint32_t part = skillet_big_divide(&big, 1000000000u);
		for (int i = 0; i < 9; i++, part /= 10) all[--at] = (char)(part % 10);
	}
	while (all[at] == 0) at++;
	int have = (int)sizeof all - at, before = have - behind;
	bool up = false;
	if (have > want) {
		bool more = false;
		for (int i = at + want + 1; i < (int)sizeof all; i++) more = more || all[i] != 0;
		up = all[at + want] > 5 || (all[at + want] == 5 && (more || (all[at + want - 1] & 1) != 0));
	}
	for (int i = 0; i < want; i++) digits[i] = i < have ? all[at + i] : 0;
	for (int i = want - 1; up && i >= 0; i--) {
		up = digits[i] == 9;
		digits[i] = up ? 0 : (char)(digits[i] + 1);
	}
	if (up) { // 999… became 1000…
		digits[0] = 1;
		before++;
	}
	return before;
}

// skillet_put_decimal appends count digits with the point behind the first before of them.
SKILLET_FN void skillet_put_decimal(skillet_buffer *b, const char *digits, int count, int before) {
	while (count > 1 && digits[count - 1] == 0) count--;
	bool scientific = before < -5 || before > 21;
	int point = scientific ? 1 : before;
	if (point <= 0) skillet_put(b, SKILLET_STR("0."));
	for (int i = point; i < 0; i++) skillet_put_char(b, '0');
	for (int i = 0; i < count || i < point; i++) {
		if (i == point && i > 0) skillet_put_char(b, '.');
		skillet_put_char(b, (char)('0' + (i < count ? digits[i] : 0)));
	}
	if (scientific) {
		skillet_put_char(b, 'e');
		skillet_put_signed(b, before - 1);
	}
}

// skillet_write_double appends the shortest decimal that reads back as v.
SKILLET_FN void skillet_write_double(skillet_buffer *b, double v) {
	if (v < 0) {
		skillet_put_char(b, '-');
		v = -v;
	}
	if (v == 0) {
		skillet_put_char(b, '0');
		return;
	}
	char digits[17];
	for (int want = 15; want <= 17; want++) {
		skillet_buffer text = {0};
		int before = skillet_decimal(v, digits, want);
		skillet_put_decimal(&text, digits, want, before);
		skillet_str s = {text.ptr, text.len};
		double back = 0;
		if (want == 17 || (skillet_parse_double(s, &back) && back == v)) {
			skillet_put(b, s);
			return;
		}
	}
}

// --- writing JSON ---

// skillet_separate puts a comma where one belongs: behind a value that is complete.
SKILLET_FN void skillet_separate(skillet_buffer *b) {
	char last = b->len == 0 ? '{' : b->ptr[b->len - 1];
	if (last != '{' && last != '[' && last != ':') skillet_put_char(b, ',');
}

// The functions skillet_write_… write one value: into an array, behind skillet_key, or by itself. Commas come of
// themselves.
SKILLET_FN void skillet_write_raw(skillet_buffer *b, skillet_str json) {
	skillet_separate(b);
	skillet_put(b, json);
}

SKILLET_FN void skillet_write_string(skillet_buffer *b, skillet_str s) {
	skillet_separate(b);
	skillet_put_char(b, '"');
	size_t from = 0;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c >= 0x20 && c != '"' && c != '\\') continue;
		skillet_str plain = {s.ptr + from, i - from};
		skillet_put(b, plain);
		from = i + 1;
		if (c >= 0x20) {
			skillet_put_char(b, '\\');
			skillet_put_char(b, (char)c);
			continue;
		}
		skillet_put(b, SKILLET_STR("\\u00"));
		skillet_put_char(b, (char)('0' + (c >> 4)));
		skillet_put_char(b, "0123456789abcdef"[c & 15]);
	}
	skillet_str plain = {s.ptr + from, s.len - from};
	skillet_put(b, plain);
	skillet_put_char(b, '"');
}

SKILLET_FN void skillet_write_int(skillet_buffer *b, int64_t v) {
	skillet_separate(b);
	skillet_put_signed(b, v);
}

SKILLET_FN void skillet_write_uint(skillet_buffer *b, uint64_t v) {
	skillet_separate(b);
	skillet_put_number(b, v, false);
}

SKILLET_FN void skillet_write_bool(skillet_buffer *b, bool v) {
	skillet_write_raw(b, v ? SKILLET_STR("true") : SKILLET_STR("false"));
}

SKILLET_FN void skillet_write_null(skillet_buffer *b) { skillet_write_raw(b, SKILLET_STR("null")); }

// skillet_write_float writes a number. What is none in JSON, infinite or not a number, becomes null.
SKILLET_FN void skillet_write_float(skillet_buffer *b, double v) {
	if (v - v != 0) {
		skillet_write_null(b);
		return;
	}
	skillet_separate(b);
	skillet_write_double(b, v);
}

SKILLET_FN void skillet_begin_object(skillet_buffer *b) { skillet_write_raw(b, SKILLET_STR("{")); }
SKILLET_FN void skillet_end_object(skillet_buffer *b) { skillet_put_char(b, '}'); }
SKILLET_FN void skillet_begin_array(skillet_buffer *b) { skillet_write_raw(b, SKILLET_STR("[")); }
SKILLET_FN void skillet_end_array(skillet_buffer *b) { skillet_put_char(b, ']'); }

// skillet_key writes the name of a member, behind which its value follows.
SKILLET_FN void skillet_key(skillet_buffer *b, const char *name) {
	skillet_write_string(b, skillet_text(name));
	skillet_put_char(b, ':');
}

// The functions skillet_add_… write a member of an object.
SKILLET_FN void skillet_add_string(skillet_buffer *b, const char *name, skillet_str v) {
	skillet_key(b, name);
	skillet_write_string(b, v);
}

SKILLET_FN void skillet_add_int(skillet_buffer *b, const char *name, int64_t v) {
	skillet_key(b, name);
	skillet_write_int(b, v);
}

SKILLET_FN void skillet_add_uint(skillet_buffer *b, const char *name, uint64_t v) {
	skillet_key(b, name);
	skillet_write_uint(b, v);
}

SKILLET_FN void skillet_add_float(skillet_buffer *b, const char *name, double v) {
	skillet_key(b, name);
	skillet_write_float(b, v);
}

SKILLET_FN void skillet_add_bool(skillet_buffer *b, const char *name, bool v) {
	skillet_key(b, name);
	skillet_write_bool(b, v);
}

SKILLET_FN void skillet_add_null(skillet_buffer *b, const char *name) {
	skillet_key(b, name);
	skillet_write_null(b);
}

SKILLET_FN void skillet_add_strings(skillet_buffer *b, const char *name, const skillet_str *all, size_t count) {
	skillet_key(b, name);
	skillet_begin_array(b);
	for (size_t i = 0; i < count; i++) skillet_write_string(b, all[i]);
	skillet_end_array(b);
}

// skillet_add_pairs writes an object; of a name that is there twice the later value counts.
SKILLET_FN void skillet_add_pairs(skillet_buffer *b, const char *name, const skillet_pair *all, size_t count) {
	skillet_key(b, name);
	skillet_begin_object(b);
	for (size_t i = 0; i < count; i++) {
		skillet_write_string(b, all[i].name);
		skillet_put_char(b, ':');
		skillet_write_string(b, all[i].value);
	}
	skillet_end_object(b);
}

// skillet_add_lists writes an object of arrays: each name once, with all its values.
SKILLET_FN void skillet_add_lists(skillet_buffer *b, const char *name, const skillet_pair *all, size_t count) {
	skillet_key(b, name);
	skillet_begin_object(b);
	for (size_t i = 0; i < count; i++) {
		bool first = true;
		for (size_t j = 0; j < i; j++) first = first && !skillet_equal(all[j].name, all[i].name);
		if (!first) continue;
		skillet_write_string(b, all[i].name);
		skillet_put_char(b, ':');
		skillet_begin_array(b);
		for (size_t j = i; j < count; j++)
			if (skillet_equal(all[j].name, all[i].name)) skillet_write_string(b, all[j].value);
		skillet_end_array(b);
	}
	skillet_end_object(b);
}

// --- errors, enumerations and limits ---

// generated from sdk/hostapi/interface.json: begin
// skillet_kind is what sort of error it is.
typedef enum {
	SKILLET_NO_ERROR,
	SKILLET_DENIED, // no grant or policy allows the request
	SKILLET_NOT_FOUND, // the named file, skill or other thing does not exist
	SKILLET_INVALID, // the request or input is malformed or contradicts itself; the same again cannot succeed
	SKILLET_CONFLICT, // the file or value exists already, or changed meanwhile
	SKILLET_LIMIT, // a size, count or quota was reached
	SKILLET_IO, // reading, writing or the network failed, or the host lacks what it takes
	SKILLET_TIMEOUT, // the time allowed for the operation ran out
	SKILLET_NOT_RECORDED, // the call is replayed or tested, and nothing says how the host would answer
	SKILLET_FAILED, // anything else
} skillet_kind;

// skillet_kind_name returns the name of a value; of none it is empty.
SKILLET_FN const char *skillet_kind_name(skillet_kind v) {
	switch (v) {
	case SKILLET_DENIED: return "denied";
	case SKILLET_NOT_FOUND: return "not_found";
	case SKILLET_INVALID: return "invalid";
	case SKILLET_CONFLICT: return "conflict";
	case SKILLET_LIMIT: return "limit";
	case SKILLET_IO: return "io";
	case SKILLET_TIMEOUT: return "timeout";
	case SKILLET_NOT_RECORDED: return "not_recorded";
	case SKILLET_FAILED: return "failed";
	default: return "";
	}
}

// skillet_kind_of returns the kind with a name; for one that is unknown SKILLET_FAILED.
SKILLET_FN skillet_kind skillet_kind_of(skillet_str name) {
	if (skillet_is(name, "denied")) return SKILLET_DENIED;
	if (skillet_is(name, "not_found")) return SKILLET_NOT_FOUND;
	if (skillet_is(name, "invalid")) return SKILLET_INVALID;
	if (skillet_is(name, "conflict")) return SKILLET_CONFLICT;
	if (skillet_is(name, "limit")) return SKILLET_LIMIT;
	if (skillet_is(name, "io")) return SKILLET_IO;
	if (skillet_is(name, "timeout")) return SKILLET_TIMEOUT;
	if (skillet_is(name, "not_recorded")) return SKILLET_NOT_RECORDED;
	if (skillet_is(name, "failed")) return SKILLET_FAILED;
	return SKILLET_FAILED;
}

// skillet_level says how much a log line matters. Unset leaves it to the host.
typedef enum {
	SKILLET_LEVEL_UNSET,
	SKILLET_LEVEL_TRACE, // every step
	SKILLET_LEVEL_DEBUG, // what helps to find a mistake
	SKILLET_LEVEL_INFO, // what happened
	SKILLET_LEVEL_WARN, // what should not happen, and did no harm
	SKILLET_LEVEL_ERROR, // what went wrong
} skillet_level;

// skillet_level_name returns the name of a value; of none it is empty.
SKILLET_FN const char *skillet_level_name(skillet_level v) {
	switch (v) {
	case SKILLET_LEVEL_TRACE: return "trace";
	case SKILLET_LEVEL_DEBUG: return "debug";
	case SKILLET_LEVEL_INFO: return "info";
	case SKILLET_LEVEL_WARN: return "warn";
	case SKILLET_LEVEL_ERROR: return "error";
	default: return "";
	}
}

// skillet_level_of finds the value with a name; it is false when there is none.
SKILLET_FN bool skillet_level_of(skillet_str name, skillet_level *to) {
	if (skillet_is(name, "trace")) return *to = SKILLET_LEVEL_TRACE, true;
	if (skillet_is(name, "debug")) return *to = SKILLET_LEVEL_DEBUG, true;
	if (skillet_is(name, "info")) return *to = SKILLET_LEVEL_INFO, true;
	if (skillet_is(name, "warn")) return *to = SKILLET_LEVEL_WARN, true;
	if (skillet_is(name, "error")) return *to = SKILLET_LEVEL_ERROR, true;
	return false;
}

// skillet_severity says how much a notification matters. Unset leaves it to the host.
typedef enum {
	SKILLET_SEVERITY_UNSET,
	SKILLET_SEVERITY_INFO, // good to know
	SKILLET_SEVERITY_WARNING, // somebody should look at it
	SKILLET_SEVERITY_ERROR, // somebody has to do something
} skillet_severity;

// skillet_severity_name returns the name of a value; of none it is empty.
SKILLET_FN const char *skillet_severity_name(skillet_severity v) {
	switch (v) {
	case SKILLET_SEVERITY_INFO: return "info";
	case SKILLET_SEVERITY_WARNING: return "warning";
	case SKILLET_SEVERITY_ERROR: return "error";
	default: return "";
	}
}

// skillet_severity_of finds the value with a name; it is false when there is none.
SKILLET_FN bool skillet_severity_of(skillet_str name, skillet_severity *to) {
	if (skillet_is(name, "info")) return *to = SKILLET_SEVERITY_INFO, true;
	if (skillet_is(name, "warning")) return *to = SKILLET_SEVERITY_WARNING, true;
	if (skillet_is(name, "error")) return *to = SKILLET_SEVERITY_ERROR, true;
	return false;
}

// skillet_format says what a model is to answer with. Unset leaves it to the host.
typedef enum {
	SKILLET_FORMAT_UNSET,
	SKILLET_FORMAT_TEXT, // text, as it comes
	SKILLET_FORMAT_JSON, // one JSON value and nothing around it
} skillet_format;

// skillet_format_name returns the name of a value; of none it is empty.
SKILLET_FN const char *skillet_format_name(skillet_format v) {
	switch (v) {
	case SKILLET_FORMAT_TEXT: return "text";
	case SKILLET_FORMAT_JSON: return "json";
	default: return "";
	}
}

// skillet_format_of finds the value with a name; it is false when there is none.
SKILLET_FN bool skillet_format_of(skillet_str name, skillet_format *to) {
	if (skillet_is(name, "text")) return *to = SKILLET_FORMAT_TEXT, true;
	if (skillet_is(name, "json")) return *to = SKILLET_FORMAT_JSON, true;
	return false;
}

// What no setting of the host changes.
enum {
	SKILLET_MAX_META = 262144, // the longest request data; what is long belongs in the body, in bytes
	SKILLET_MAX_READ = 4194304, // the most that one fs_read returns, in bytes
	SKILLET_MAX_LIST = 10000, // the most that one fs_list returns, in entries
	SKILLET_MAX_URL = 8192, // the longest URL, in bytes
	SKILLET_MAX_REDIRECTS = 5, // the most that one request follows, in redirects
	SKILLET_MAX_HEADERS = 64, // the most that one request may set, in header fields
	SKILLET_MAX_HEADER_BYTES = 65536, // the longest header of a request, and of a response, in bytes
	SKILLET_MAX_KEY = 512, // the longest key, in bytes
	SKILLET_MAX_VALUE = 262144, // the longest value of a key, in bytes
	SKILLET_MAX_KEYS = 1000, // the most that one kv_list returns, in keys
	SKILLET_MAX_PROMPT = 1048576, // the longest prompt, with what the model is told before it, in bytes
	SKILLET_MAX_MODEL_ANSWER = 4194304, // the longest answer of a model, in bytes
};
// generated from sdk/hostapi/interface.json: end

// skillet_error is why something failed. The message is one line for a person, in lower case and without a period.
typedef struct {
	skillet_kind kind;
	skillet_str message;
} skillet_error;

// skillet_fail sets an error with a message in the format of skillet_put_format, and returns false.
SKILLET_FN bool skillet_fail(skillet_error *err, skillet_kind kind, const char *format, ...) {
	skillet_buffer b = {0};
	va_list args;
	va_start(args, format);
	skillet_put_format(&b, format, args);
	va_end(args);
	err->kind = kind;
	err->message.ptr = b.ptr;
	err->message.len = b.len;
	return false;
}

// --- reading JSON ---

// What a JSON value is.
typedef enum { SKILLET_NULL, SKILLET_BOOL, SKILLET_NUMBER, SKILLET_STRING, SKILLET_ARRAY, SKILLET_OBJECT } skillet_type;

// skillet_value is a JSON value. The members of an object and the elements of an array are a list that begins with
// first and goes on with next.
typedef struct skillet_value {
	skillet_type type;
	bool boolean;
	size_t count;     // members or elements
	skillet_str key;  // name of a member, empty for others
	skillet_str text; // of a string, or a number as it was written
	struct skillet_value *first, *next;
	const struct skillet_value *parent;
} skillet_value;

// skillet_reader is where reading is.
typedef struct {
	skillet_str in;
	size_t at;
	int depth;
} skillet_reader;

// skillet_max_depth is how deep values may be in each other.
enum { skillet_max_depth = 200 };

SKILLET_FN char skillet_peek(const skillet_reader *r) { return r->at < r->in.len ? r->in.ptr[r->at] : 0; }

SKILLET_FN void skillet_skip_space(skillet_reader *r) {
	for (char c = skillet_peek(r); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = skillet_peek(r)) r->at++;
}

SKILLET_FN bool skillet_take(skillet_reader *r, const char *word) {
	skillet_str w = skillet_text(word), rest = {r->in.ptr + r->at, r->in.len - r->at};
	if (rest.len < w.len) return false;
	rest.len = w.len;
	if (!skillet_equal(rest, w)) return false;
	r->at += w.len;
	return true;
}

SKILLET_FN bool skillet_read_hex(skillet_reader *r, uint32_t *to) {
	*to = 0;
	for (int i = 0; i < 4; i++, r->at++) {
		char c = skillet_peek(r);
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (digit < 0) return false;
		*to = *to << 4 | (uint32_t)digit;
	}
	return true;
}

// skillet_put_rune appends a character in UTF-8.
SKILLET_FN void skillet_put_rune(skillet_buffer *b, uint32_t c) {
	if (c < 0x80) {
		skillet_put_char(b, (char)c);
		return;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	skillet_put_char(b, (char)((0xff00 >> (more + 1) & 0xff) | c >> (6 * more)));
	while (more-- > 0) skillet_put_char(b, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

// skillet_read_escape reads what follows a backslash. Half a pair of surrogates becomes U+FFFD.
SKILLET_FN bool skillet_read_escape(skillet_reader *r, skillet_buffer *to) {
	static const char from[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
	char c = skillet_peek(r);
	r->at++;
	for (int i = 0; from[i] != 0; i++) {
		if (c == from[i]) {
			skillet_put_char(to, plain[i]);
			return true;
		}
	}
	uint32_t rune, low;
	if (c != 'u' || !skillet_read_hex(r, &rune)) return false;
	if (rune >= 0xd800 && rune < 0xdc00) {
		size_t back = r->at;
		if (skillet_take(r, "\\u") && skillet_read_hex(r, &low) && low >= 0xdc00 && low < 0xe000) {
			rune = 0x10000 + ((rune - 0xd800) << 10) + (low - 0xdc00);
		} else {
			r->at = back;
			rune = 0xfffd;
		}
	} else if (rune >= 0xdc00 && rune < 0xe000) rune = 0xfffd;
	skillet_put_rune(to, rune);
	return true;
}

// skillet_read_string reads a string. One without escapes stays where it is.
SKILLET_FN bool skillet_read_string(skillet_reader *r, skillet_str *to) {
	if (!skillet_take(r, "\"")) return false;
	size_t from = r->at;
	skillet_buffer b = {0};
	for (;; r->at++) {
		unsigned char c = (unsigned char)skillet_peek(r);
		if (c < 0x20) return false;
		if (c != '"' && c != '\\') continue;
		skillet_str part = {r->in.ptr + from, r->at - from};
		if (c == '"' && b.ptr == 0) {
			*to = part;
			break;
		}
		skillet_put(&b, part);
		if (c == '"') {
			to->ptr = b.ptr;
			to->len = b.len;
			break;
		}
		r->at++;
		if (!skillet_read_escape(r, &b)) return false;
		from = r->at--;
	}
	r->at++;
	return true;
}

SKILLET_FN bool skillet_read_digits(skillet_reader *r) {
	size_t from = r->at;
	for (char c = skillet_peek(r); c >= '0' && c <= '9'; c = skillet_peek(r)) r->at++;
	return r->at > from;
}

// skillet_read_number reads the digits of a number (RFC 8259, section 6).
SKILLET_FN bool skillet_read_number(skillet_reader *r, skillet_str *to) {
	size_t from = r->at;
	skillet_take(r, "-");
	if (!skillet_take(r, "0") && !skillet_read_digits(r)) return false;
	if (skillet_take(r, ".") && !skillet_read_digits(r)) return false;
	if (skillet_take(r, "e") || skillet_take(r, "E")) {
		if (!skillet_take(r, "+")) skillet_take(r, "-");
		if (!skillet_read_digits(r)) return false;
	}
	to->ptr = r->in.ptr + from;
	to->len = r->at - from;
	return true;
}

SKILLET_FN bool skillet_read_value(skillet_reader *r, skillet_value *v);

// skillet_read_members reads what is in an object or an array, behind its first bracket.
SKILLET_FN bool skillet_read_members(skillet_reader *r, skillet_value *v) {
	const char *end = v->type == SKILLET_OBJECT ? "}" : "]";
	skillet_value **next = &v->first;
	if (++r->depth > skillet_max_depth) return false;
	skillet_skip_space(r);
	if (!skillet_take(r, end)) {
		do {
			skillet_value *m = (skillet_value *)skillet_alloc(sizeof *m);
			skillet_value zero = {SKILLET_NULL};
			*m = zero;
			m->parent = v;
			skillet_skip_space(r);
			if (v->type == SKILLET_OBJECT) {
				if (!skillet_read_string(r, &m->key)) return false;
				skillet_skip_space(r);
				if (!skillet_take(r, ":")) return false;
			}
			if (!skillet_read_value(r, m)) return false;
			*next = m;
			next = &m->next;
			v->count++;
		} while (skillet_take(r, ","));
		if (!skillet_take(r, end)) return false;
	}
	r->depth--;
	return true;
}

// skillet_read_value reads a value and the space around it.
SKILLET_FN bool skillet_read_value(skillet_reader *r, skillet_value *v) {
	skillet_skip_space(r);
	bool ok = true;
	if (skillet_take(r, "{")) {
		v->type = SKILLET_OBJECT;
		ok = skillet_read_members(r, v);
	} else if (skillet_take(r, "[")) {
		v->type = SKILLET_ARRAY;
		ok = skillet_read_members(r, v);
	} else if (skillet_peek(r) == '"') {
		v->type = SKILLET_STRING;
		ok = skillet_read_string(r, &v->text);
	} else if (skillet_take(r, "true")) {
		v->type = SKILLET_BOOL;
		v->boolean = true;
	} else if (skillet_take(r, "false")) v->type = SKILLET_BOOL;
	else if (skillet_take(r, "null")) v->type = SKILLET_NULL;
	else {
		v->type = SKILLET_NUMBER;
		ok = skillet_read_number(r, &v->text);
	}
	skillet_skip_space(r);
	return ok;
}

// skillet_parse reads JSON. Text in it stays where it is in json, which must not change. Nothing at all is an empty
// object. The error is SKILLET_INVALID and says where.
SKILLET_FN bool skillet_parse(skillet_str json, const skillet_value **to, skillet_error *err) {
	skillet_reader r = {json, 0, 0};
	skillet_value *v = (skillet_value *)skillet_alloc(sizeof *v), zero = {SKILLET_NULL};
	*v = zero;
	*to = v;
	skillet_skip_space(&r);
	v->type = SKILLET_OBJECT;
	if (r.at == json.len) return true;
	if (skillet_read_value(&r, v) && r.at == json.len) return true;
	return skillet_fail(err, SKILLET_INVALID, "input: not valid JSON at byte %l", (int64_t)r.at);
}

// skillet_find returns a member of an object, or null when there is none or it is null. Of several with one name it is
// the last.
SKILLET_FN const skillet_value *skillet_find(const skillet_value *object, const char *name) {
	const skillet_value *found = 0;
	if (object->type != SKILLET_OBJECT) return 0;
	for (const skillet_value *m = object->first; m != 0; m = m->next)
		if (skillet_is(m->key, name)) found = m;
	return found != 0 && found->type == SKILLET_NULL ? 0 : found;
}

// skillet_path is where a value is in the input: "inner.depth".
SKILLET_FN skillet_str skillet_path(const skillet_value *v) {
	if (v->parent == 0) return SKILLET_STR("input");
	skillet_str above = skillet_path(v->parent);
	if (v->key.len == 0) return above;
	return v->parent->parent == 0 ? v->key : skillet_textf("%t.%t", above, v->key);
}

// skillet_wrong is the error for a value that is not what was expected.
SKILLET_FN bool skillet_wrong(const skillet_value *v, const char *expected, skillet_error *err) {
	static const char *const words[] = {"null", "true or false", "a number", "a string", "an array", "an object"};
	if (v->type == SKILLET_NUMBER) return skillet_fail(err, SKILLET_INVALID, "%t: must be %s, not %t", skillet_path(v), expected, v->text);
	return skillet_fail(err, SKILLET_INVALID, "%t: must be %s, not %s", skillet_path(v), expected, words[v->type]);
}

// skillet_typed finds a member that must be of a type. It is false with an error when it is another, and otherwise
// *to is null when there is none.
SKILLET_FN bool skillet_typed(const skillet_value *object, const char *name, skillet_type type, const char *expected, const skillet_value **to, skillet_error *err) {
	if (object->type != SKILLET_OBJECT) return skillet_wrong(object, "an object", err);
	*to = skillet_find(object, name);
	return *to == 0 || (*to)->type == type || skillet_wrong(*to, expected, err);
}

// The functions skillet_as_… read one value.
SKILLET_FN bool skillet_as_uint(const skillet_value *v, uint64_t *to, skillet_error *err) {
	uint64_t n = 0;
	bool ok = v->type == SKILLET_NUMBER;
	for (size_t i = 0; ok && i < v->text.len; i++) {
		uint64_t digit = (uint64_t)(v->text.ptr[i] - '0');
		ok = digit <= 9 && n <= (UINT64_MAX - digit) / 10;
		n = n * 10 + digit;
	}
	if (!ok) return skillet_wrong(v, "a whole number in range", err);
	*to = n;
	return true;
}

SKILLET_FN bool skillet_as_int(const skillet_value *v, int64_t *to, skillet_error *err) {
	bool negative = v->text.len > 0 && v->text.ptr[0] == '-';
	skillet_value digits = *v;
	uint64_t n = 0;
	digits.text.ptr += negative ? 1 : 0;
	digits.text.len -= negative ? 1 : 0;
	if (v->type != SKILLET_NUMBER || !skillet_as_uint(&digits, &n, err) || n > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return skillet_wrong(v, "a whole number in range", err);
	*to = (int64_t)(negative ? 0 - n : n);
	return true;
}

SKILLET_FN bool skillet_as_float(const skillet_value *v, double *to, skillet_error *err) {
	if (v->type == SKILLET_NUMBER && skillet_parse_double(v->text, to)) return true;
	return skillet_wrong(v, "a number", err);
}

SKILLET_FN bool skillet_as_string(const skillet_value *v, skillet_str *to, skillet_error *err) {
	if (v->type != SKILLET_STRING) return skillet_wrong(v, "a string", err);
	*to = v->text;
	return true;
}

// The functions skillet_get_… read a member of an object. One that is missing or null leaves *to as it is; one of
// another type is an error of SKILLET_INVALID that names it.
SKILLET_FN bool skillet_get_string(const skillet_value *object, const char *name, skillet_str *to, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_typed(object, name, SKILLET_STRING, "a string", &v, err)) return false;
	if (v != 0) *to = v->text;
	return true;
}

SKILLET_FN bool skillet_get_bool(const skillet_value *object, const char *name, bool *to, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_typed(object, name, SKILLET_BOOL, "true or false", &v, err)) return false;
	if (v != 0) *to = v->boolean;
	return true;
}

SKILLET_FN bool skillet_get_int(const skillet_value *object, const char *name, int64_t *to, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_typed(object, name, SKILLET_NUMBER, "a whole number in range", &v, err)) return false;
	return v == 0 || skillet_as_int(v, to, err);
}

SKILLET_FN bool skillet_get_uint(const skillet_value *object, const char *name, uint64_t *to, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_typed(object, name, SKILLET_NUMBER, "a whole number in range", &v, err)) return false;
	return v == 0 || skillet_as_uint(v, to, err);
}

SKILLET_FN bool skillet_get_float(const skillet_value *object, const char *name, double *to, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_typed(object, name, SKILLET_NUMBER, "a number", &v, err)) return false;
	return v == 0 || skillet_as_float(v, to, err);
}

// skillet_get_object and skillet_get_array set *to to the value, or to null when there is none.
SKILLET_FN bool skillet_get_object(const skillet_value *object, const char *name, const skillet_value **to, skillet_error *err) {
	return skillet_typed(object, name, SKILLET_OBJECT, "an object", to, err);
}

SKILLET_FN bool skillet_get_array(const skillet_value *object, const char *name, const skillet_value **to, skillet_error *err) {
	return skillet_typed(object, name, SKILLET_ARRAY, "an array", to, err);
}

SKILLET_FN bool skillet_get_strings(const skillet_value *object, const char *name, const skillet_str **to, size_t *count, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_get_array(object, name, &v, err)) return false;
	if (v == 0) return true;
	skillet_str *all = (skillet_str *)skillet_alloc(v->count * sizeof *all);
	*count = 0;
	for (const skillet_value *e = v->first; e != 0; e = e->next)
		if (!skillet_as_string(e, &all[(*count)++], err)) return false;
	*to = all;
	return true;
}

// skillet_get_pairs reads an object of strings, or with lists an object of arrays of strings.
SKILLET_FN bool skillet_get_pairs(const skillet_value *object, const char *name, bool lists, const skillet_pair **to, size_t *count, skillet_error *err) {
	const skillet_value *v;
	size_t n = 0;
	if (!skillet_get_object(object, name, &v, err)) return false;
	if (v == 0) return true;
	for (const skillet_value *m = v->first; m != 0; m = m->next) n += lists ? m->count : 1;
	skillet_pair *all = (skillet_pair *)skillet_alloc(n * sizeof *all);
	n = 0;
	for (const skillet_value *m = v->first; m != 0; m = m->next) {
		if (lists && m->type != SKILLET_ARRAY) return skillet_wrong(m, "an array", err);
		for (const skillet_value *e = lists ? m->first : m; e != 0; e = lists ? e->next : 0) {
			all[n].name = m->key;
			if (!skillet_as_string(e, &all[n++].value, err)) return false;
		}
	}
	*to = all;
	*count = n;
	return true;
}

// --- calling the host ---

// skillet_import is a host function in the shape that all but a few have: a request of JSON and bytes in, and the
// lengths of the response that waits for them out.
typedef int64_t skillet_import(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// generated from sdk/hostapi/interface.json: begin
// skillet_import_input_length returns the length of the input of the call in bytes.
SKILLET_C SKILLET_IMPORT("input_length") int64_t skillet_import_input_length(void);

// skillet_import_input_read copies up to length bytes of the input from offset on to memory,
// and returns how many.
SKILLET_C SKILLET_IMPORT("input_read") int32_t skillet_import_input_read(void *to, int64_t offset, uint32_t length);

// skillet_import_output_write appends length bytes of memory to the output of the call; past
// the output limit the call ends.
SKILLET_C SKILLET_IMPORT("output_write") void skillet_import_output_write(const void *from, uint32_t length);

// skillet_import_error_write sets the error of the call, of which the last one counts; it is
// reported when the export returns another number than 0.
SKILLET_C SKILLET_IMPORT("error_write") void skillet_import_error_write(const void *kind, uint32_t kind_length, const void *message, uint32_t message_length);

// skillet_import_response_read copies the waiting response to memory, once; the function that
// was called has returned both lengths.
SKILLET_C SKILLET_IMPORT("response_read") void skillet_import_response_read(void *meta, void *body);

// generated from sdk/hostapi/interface.json: end

// skillet_input returns the whole input of the call as it is.
SKILLET_FN skillet_str skillet_input(void) {
	size_t n = (size_t)skillet_import_input_length();
	char *to = (char *)skillet_alloc(n);
	skillet_str in = {to, (uint32_t)skillet_import_input_read(to, 0, (uint32_t)n)};
	return in;
}

// skillet_output appends to the output of the call. The host ends the call when it grows past its limit.
SKILLET_FN void skillet_output(skillet_str s) { skillet_import_output_write(s.ptr, (uint32_t)s.len); }

// skillet_report tells the host of an error and returns what the exported function has to return.
SKILLET_FN int32_t skillet_report(const skillet_error *err) {
	skillet_str kind = skillet_text(skillet_kind_name(err->kind));
	skillet_import_error_write(kind.ptr, (uint32_t)kind.len, err->message.ptr, (uint32_t)err->message.len);
	return 1;
}

// skillet_tool is a tool: it reads in, which is the input, and writes JSON to out.
typedef bool skillet_tool(const skillet_value *in, skillet_buffer *out, skillet_error *err);

// skillet_run runs one call and returns what the exported function has to return. Empty input is an empty object.
SKILLET_FN int32_t skillet_run(skillet_tool *tool) {
	skillet_error err = SKILLET_ZERO(skillet_error);
	skillet_buffer out = {0};
	const skillet_value *in;
	if (!skillet_parse(skillet_input(), &in, &err) || !tool(in, &out, &err)) return skillet_report(&err);
	skillet_str all = {out.ptr, out.len};
	skillet_output(all);
	return 0;
}

// SKILLET_TOOL defines a tool that is exported by its name; the function's body follows.
#define SKILLET_TOOL(name)                                                                                       \
	static bool skillet_tool_##name(const skillet_value *in, skillet_buffer *out, skillet_error *err);           \
	SKILLET_C SKILLET_EXPORT(#name) int32_t skillet_export_##name(void);                                         \
	int32_t skillet_export_##name(void) { return skillet_run(skillet_tool_##name); }                             \
	static bool skillet_tool_##name(__attribute__((unused)) const skillet_value *in,                             \
		__attribute__((unused)) skillet_buffer *out, __attribute__((unused)) skillet_error *err)

// skillet_request passes one request to the host. Every error begins with subject: the operation and what it is about.
SKILLET_FN bool skillet_request(skillet_import *call, skillet_str subject, const skillet_buffer *meta, skillet_str body, const skillet_value **answer, skillet_str *content, skillet_error *err) {
	uint64_t both = (uint64_t)call(meta->ptr, (uint32_t)meta->len, body.ptr, (uint32_t)body.len);
	size_t length = (uint32_t)(both >> 32), content_length = (uint32_t)both;
	char *data = (char *)skillet_alloc(length), *bytes = (char *)skillet_alloc(content_length);
	skillet_import_response_read(data, bytes);
	skillet_str json = {data, length};
	if (!skillet_parse(json, answer, err)) return skillet_fail(err, SKILLET_IO, "%t: the host sent a malformed response", subject);
	const skillet_value *failure = skillet_find(*answer, "error");
	if (failure != 0) {
		skillet_str kind = SKILLET_STR(""), message = SKILLET_STR("");
		skillet_get_string(failure, "kind", &kind, err);
		skillet_get_string(failure, "message", &message, err);
		return skillet_fail(err, skillet_kind_of(kind), "%t: %t", subject, message);
	}
	content->ptr = bytes;
	content->len = content_length;
	return true;
}

// skillet_malformed is the error for an answer that is not what is described.
SKILLET_FN bool skillet_malformed(skillet_str subject, skillet_error *err) {
	return skillet_fail(err, SKILLET_IO, "%t: the host sent a malformed response: %t", subject, err->message);
}

// generated from sdk/hostapi/interface.json: begin
// skillet_entry is a file or directory of a listing.
typedef struct {
	skillet_str name; // last element of the path
	skillet_str path; // absolute path
	int64_t size; // length of the file; 0 for a directory, in bytes
	bool dir; // whether it is a directory
	skillet_str modified; // time of the last change
} skillet_entry;

SKILLET_FN bool skillet_get_entry_list(const skillet_value *object, const char *name, const skillet_entry **to, size_t *count, skillet_error *err) {
	const skillet_value *v;
	if (!skillet_get_array(object, name, &v, err)) return false;
	if (v == 0) return true;
	skillet_entry *all = (skillet_entry *)skillet_alloc(v->count * sizeof *all);
	size_t n = 0;
	for (const skillet_value *e = v->first; e != 0; e = e->next, n++) {
		all[n] = SKILLET_ZERO(skillet_entry);
		if (!(skillet_get_string(e, "name", &all[n].name, err) &&
		skillet_get_string(e, "path", &all[n].path, err) &&
		skillet_get_int(e, "size", &all[n].size, err) &&
		skillet_get_bool(e, "dir", &all[n].dir, err) &&
		skillet_get_string(e, "modified", &all[n].modified, err))) return false;
	}
	*to = all;
	*count = n;
	return true;
}

// skillet_fs_read_request is what skillet_fs_read takes. What is zero is left out.
typedef struct skillet_fs_read_request {
	skillet_str path; // absolute path, or relative to the workspace where there is one
	int64_t offset SKILLET_UNSET; // where to begin; behind the end there is nothing, in bytes
	int64_t length SKILLET_UNSET; // how much; 0 for as much as one call returns, in bytes
} skillet_fs_read_request;

// skillet_fs_read_response is what skillet_fs_read answers.
typedef struct {
	int64_t size; // length of the whole file, in bytes
	bool truncated; // whether the file goes on behind what was read
	skillet_str body; // the content
} skillet_fs_read_response;

SKILLET_C SKILLET_IMPORT("fs_read") int64_t skillet_import_fs_read(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_fs_read returns the content of a file, or a part of it. It needs the grant
// fs.read:{path}. Errors: SKILLET_DENIED, SKILLET_NOT_FOUND, SKILLET_INVALID, SKILLET_LIMIT.
SKILLET_FN bool skillet_fs_read(const skillet_fs_read_request *request, skillet_fs_read_response *response, skillet_error *err) {
	skillet_fs_read_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "path", ask.path);
	if (ask.offset != 0) skillet_add_int(&meta, "offset", ask.offset);
	if (ask.length != 0) skillet_add_int(&meta, "length", ask.length);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("read %t", ask.path);
	*response = SKILLET_ZERO(skillet_fs_read_response);
	if (!skillet_request(skillet_import_fs_read, subject, &meta, SKILLET_STR(""), &answer, &response->body, err)) return false;
	return (skillet_get_int(answer, "size", &response->size, err) &&
		skillet_get_bool(answer, "truncated", &response->truncated, err)) || skillet_malformed(subject, err);
}

// skillet_fs_write_request is what skillet_fs_write takes. What is zero is left out.
typedef struct skillet_fs_write_request {
	skillet_str path; // absolute path, or relative to the workspace where there is one
	bool append SKILLET_UNSET; // writes behind what is there
	bool create_only SKILLET_UNSET; // refuses to touch a file that exists
	skillet_str body SKILLET_UNSET; // the content
} skillet_fs_write_request;

// skillet_fs_write_response is what skillet_fs_write answers.
typedef struct {
	int64_t size; // length of the file afterwards, in bytes
} skillet_fs_write_response;

SKILLET_C SKILLET_IMPORT("fs_write") int64_t skillet_import_fs_write(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_fs_write replaces a file, makes a new one, or writes behind the end of one. It needs
// the grant fs.write:{path}. Errors: SKILLET_DENIED, SKILLET_NOT_FOUND, SKILLET_INVALID,
// SKILLET_CONFLICT, SKILLET_LIMIT.
SKILLET_FN bool skillet_fs_write(const skillet_fs_write_request *request, skillet_fs_write_response *response, skillet_error *err) {
	skillet_fs_write_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "path", ask.path);
	if (ask.append != 0) skillet_add_bool(&meta, "append", ask.append);
	if (ask.create_only != 0) skillet_add_bool(&meta, "create_only", ask.create_only);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("write %t", ask.path);
	*response = SKILLET_ZERO(skillet_fs_write_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_fs_write, subject, &meta, ask.body, &answer, &nothing, err)) return false;
	return (skillet_get_int(answer, "size", &response->size, err)) || skillet_malformed(subject, err);
}

// skillet_fs_list_request is what skillet_fs_list takes. What is zero is left out.
typedef struct skillet_fs_list_request {
	skillet_str path; // absolute path, or relative to the workspace where there is one
	bool recursive SKILLET_UNSET; // lists what is below, too
	int64_t limit SKILLET_UNSET; // the most entries to return; 0 for 1000, in entries
} skillet_fs_list_request;

// skillet_fs_list_response is what skillet_fs_list answers.
typedef struct {
	const skillet_entry *entries; // files and directories found
	size_t entries_count;
	bool truncated; // whether the limit cut the list
} skillet_fs_list_response;

SKILLET_C SKILLET_IMPORT("fs_list") int64_t skillet_import_fs_list(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_fs_list lists a directory, sorted by name, each directory before what is in it. It
// needs the grant fs.read:{path}. Errors: SKILLET_DENIED, SKILLET_NOT_FOUND, SKILLET_INVALID,
// SKILLET_LIMIT.
SKILLET_FN bool skillet_fs_list(const skillet_fs_list_request *request, skillet_fs_list_response *response, skillet_error *err) {
	skillet_fs_list_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "path", ask.path);
	if (ask.recursive != 0) skillet_add_bool(&meta, "recursive", ask.recursive);
	if (ask.limit != 0) skillet_add_int(&meta, "limit", ask.limit);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("list %t", ask.path);
	*response = SKILLET_ZERO(skillet_fs_list_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_fs_list, subject, &meta, SKILLET_STR(""), &answer, &nothing, err)) return false;
	return (skillet_get_entry_list(answer, "entries", &response->entries, &response->entries_count, err) &&
		skillet_get_bool(answer, "truncated", &response->truncated, err)) || skillet_malformed(subject, err);
}

// skillet_fs_stat_request is what skillet_fs_stat takes. What is zero is left out.
typedef struct skillet_fs_stat_request {
	skillet_str path; // absolute path, or relative to the workspace where there is one
} skillet_fs_stat_request;

// skillet_fs_stat_response is what skillet_fs_stat answers.
typedef struct {
	int64_t size; // length of the file; 0 for a directory, in bytes
	bool dir; // whether it is a directory
	skillet_str modified; // time of the last change
	bool exists; // whether there is anything
} skillet_fs_stat_response;

SKILLET_C SKILLET_IMPORT("fs_stat") int64_t skillet_import_fs_stat(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_fs_stat describes a file or directory; that there is none is an answer and no error.
// It needs the grant fs.read:{path}. Errors: SKILLET_DENIED, SKILLET_INVALID.
SKILLET_FN bool skillet_fs_stat(const skillet_fs_stat_request *request, skillet_fs_stat_response *response, skillet_error *err) {
	skillet_fs_stat_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "path", ask.path);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("stat %t", ask.path);
	*response = SKILLET_ZERO(skillet_fs_stat_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_fs_stat, subject, &meta, SKILLET_STR(""), &answer, &nothing, err)) return false;
	return (skillet_get_int(answer, "size", &response->size, err) &&
		skillet_get_bool(answer, "dir", &response->dir, err) &&
		skillet_get_string(answer, "modified", &response->modified, err) &&
		skillet_get_bool(answer, "exists", &response->exists, err)) || skillet_malformed(subject, err);
}

// skillet_http_request_request is what skillet_http_request takes. What is zero is left out.
typedef struct skillet_http_request_request {
	skillet_str method SKILLET_UNSET; // HTTP method; GET when it is left out
	skillet_str url; // absolute URL with scheme http or https
	const skillet_pair *headers SKILLET_UNSET; // header fields, each with all its values
	size_t headers_count SKILLET_UNSET;
	int64_t timeout_ms SKILLET_UNSET; // bounds the exchange with all its redirects; 0 for the host's own limit, in milliseconds
	int64_t max_bytes SKILLET_UNSET; // bounds the body of the response; 0 for the host's own limit, in bytes
	skillet_str body SKILLET_UNSET; // the content to send; empty for none
} skillet_http_request_request;

// skillet_http_request_response is what skillet_http_request answers.
typedef struct {
	int64_t status; // HTTP status code
	const skillet_pair *headers; // header fields of the response, without cookies and what concerns the connection
	size_t headers_count;
	skillet_str url; // where the response came from, after redirects
	bool truncated; // whether the body was longer than allowed, and was cut
	skillet_str body; // the content received
} skillet_http_request_response;

SKILLET_C SKILLET_IMPORT("http_request") int64_t skillet_import_http_request(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_http_request sends an HTTP request and returns the response; every redirect needs the
// grant too; a status of 400 or more is no error. It needs the grant http:{method} {url}.
// Errors: SKILLET_DENIED, SKILLET_INVALID, SKILLET_LIMIT, SKILLET_IO, SKILLET_TIMEOUT.
SKILLET_FN bool skillet_http_request(const skillet_http_request_request *request, skillet_http_request_response *response, skillet_error *err) {
	skillet_http_request_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	if (ask.method.len == 0) ask.method = SKILLET_STR("GET");
	skillet_begin_object(&meta);
	if (ask.method.len != 0) skillet_add_string(&meta, "method", ask.method);
	skillet_add_string(&meta, "url", ask.url);
	if (ask.headers_count != 0) skillet_add_lists(&meta, "headers", ask.headers, ask.headers_count);
	if (ask.timeout_ms != 0) skillet_add_int(&meta, "timeout_ms", ask.timeout_ms);
	if (ask.max_bytes != 0) skillet_add_int(&meta, "max_bytes", ask.max_bytes);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("%t %t", ask.method, ask.url);
	*response = SKILLET_ZERO(skillet_http_request_response);
	if (!skillet_request(skillet_import_http_request, subject, &meta, ask.body, &answer, &response->body, err)) return false;
	return (skillet_get_int(answer, "status", &response->status, err) &&
		skillet_get_pairs(answer, "headers", true, &response->headers, &response->headers_count, err) &&
		skillet_get_string(answer, "url", &response->url, err) &&
		skillet_get_bool(answer, "truncated", &response->truncated, err)) || skillet_malformed(subject, err);
}

// skillet_kv_get_request is what skillet_kv_get takes. What is zero is left out.
typedef struct skillet_kv_get_request {
	skillet_str key; // valid UTF-8 without control characters
} skillet_kv_get_request;

// skillet_kv_get_response is what skillet_kv_get answers.
typedef struct {
	bool found; // whether the key has a value
	uint64_t revision; // grows with every change of the key; 0 when it has no value
	skillet_str body; // the value
} skillet_kv_get_response;

SKILLET_C SKILLET_IMPORT("kv_get") int64_t skillet_import_kv_get(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_kv_get returns a value of the skill's own state; that there is none is an answer and
// no error. It needs the grant kv. Errors: SKILLET_DENIED, SKILLET_INVALID, SKILLET_IO.
SKILLET_FN bool skillet_kv_get(const skillet_kv_get_request *request, skillet_kv_get_response *response, skillet_error *err) {
	skillet_kv_get_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "key", ask.key);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("get key %t", ask.key);
	*response = SKILLET_ZERO(skillet_kv_get_response);
	if (!skillet_request(skillet_import_kv_get, subject, &meta, SKILLET_STR(""), &answer, &response->body, err)) return false;
	return (skillet_get_bool(answer, "found", &response->found, err) &&
		skillet_get_uint(answer, "revision", &response->revision, err)) || skillet_malformed(subject, err);
}

// skillet_kv_put_request is what skillet_kv_put takes. What is zero is left out.
typedef struct skillet_kv_put_request {
	skillet_str key; // valid UTF-8 without control characters
	int64_t ttl_seconds SKILLET_UNSET; // how long the value lives; 0 until it is deleted, in seconds
	const uint64_t *revision SKILLET_UNSET; // stores only if the key still has this revision, with 0 only if it has no value; left out, it stores in any case; null leaves it out
	skillet_str body SKILLET_UNSET; // the value
} skillet_kv_put_request;

// skillet_kv_put_response is what skillet_kv_put answers.
typedef struct {
	uint64_t revision; // the new revision
} skillet_kv_put_response;

SKILLET_C SKILLET_IMPORT("kv_put") int64_t skillet_import_kv_put(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_kv_put stores a value. It needs the grant kv. Errors: SKILLET_DENIED,
// SKILLET_INVALID, SKILLET_CONFLICT, SKILLET_LIMIT, SKILLET_IO.
SKILLET_FN bool skillet_kv_put(const skillet_kv_put_request *request, skillet_kv_put_response *response, skillet_error *err) {
	skillet_kv_put_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "key", ask.key);
	if (ask.ttl_seconds != 0) skillet_add_int(&meta, "ttl_seconds", ask.ttl_seconds);
	if (ask.revision != 0) skillet_add_uint(&meta, "revision", *ask.revision);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("put key %t", ask.key);
	*response = SKILLET_ZERO(skillet_kv_put_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_kv_put, subject, &meta, ask.body, &answer, &nothing, err)) return false;
	return (skillet_get_uint(answer, "revision", &response->revision, err)) || skillet_malformed(subject, err);
}

// skillet_kv_delete_request is what skillet_kv_delete takes. What is zero is left out.
typedef struct skillet_kv_delete_request {
	skillet_str key; // valid UTF-8 without control characters
} skillet_kv_delete_request;

// skillet_kv_delete_response is what skillet_kv_delete answers.
typedef struct {
	bool deleted; // whether the key had a value
} skillet_kv_delete_response;

SKILLET_C SKILLET_IMPORT("kv_delete") int64_t skillet_import_kv_delete(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_kv_delete removes a value. It needs the grant kv. Errors: SKILLET_DENIED,
// SKILLET_INVALID, SKILLET_IO.
SKILLET_FN bool skillet_kv_delete(const skillet_kv_delete_request *request, skillet_kv_delete_response *response, skillet_error *err) {
	skillet_kv_delete_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "key", ask.key);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("delete key %t", ask.key);
	*response = SKILLET_ZERO(skillet_kv_delete_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_kv_delete, subject, &meta, SKILLET_STR(""), &answer, &nothing, err)) return false;
	return (skillet_get_bool(answer, "deleted", &response->deleted, err)) || skillet_malformed(subject, err);
}

// skillet_kv_list_request is what skillet_kv_list takes. What is zero is left out.
typedef struct skillet_kv_list_request {
	skillet_str prefix SKILLET_UNSET; // what the keys begin with; empty for all keys
	int64_t limit SKILLET_UNSET; // the most keys to return; 0 for as many as one call returns, in keys
} skillet_kv_list_request;

// skillet_kv_list_response is what skillet_kv_list answers.
typedef struct {
	const skillet_str *keys; // the keys
	size_t keys_count;
} skillet_kv_list_response;

SKILLET_C SKILLET_IMPORT("kv_list") int64_t skillet_import_kv_list(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_kv_list returns the keys that begin with a prefix, in order. It needs the grant kv.
// Errors: SKILLET_DENIED, SKILLET_INVALID, SKILLET_IO.
SKILLET_FN bool skillet_kv_list(const skillet_kv_list_request *request, skillet_kv_list_response *response, skillet_error *err) {
	skillet_kv_list_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	if (ask.prefix.len != 0) skillet_add_string(&meta, "prefix", ask.prefix);
	if (ask.limit != 0) skillet_add_int(&meta, "limit", ask.limit);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("list keys %t", ask.prefix);
	*response = SKILLET_ZERO(skillet_kv_list_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_kv_list, subject, &meta, SKILLET_STR(""), &answer, &nothing, err)) return false;
	return (skillet_get_strings(answer, "keys", &response->keys, &response->keys_count, err)) || skillet_malformed(subject, err);
}

// skillet_secret_exists_request is what skillet_secret_exists takes. What is zero is left out.
typedef struct skillet_secret_exists_request {
	skillet_str name; // name of the secret
} skillet_secret_exists_request;

// skillet_secret_exists_response is what skillet_secret_exists answers.
typedef struct {
	bool exists; // whether it is stored
} skillet_secret_exists_response;

SKILLET_C SKILLET_IMPORT("secret_exists") int64_t skillet_import_secret_exists(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_secret_exists says whether a secret is stored; its value never reaches a skill: the
// host adds it to requests where the manifest says so. It needs the grant secret:{name}.
// Errors: SKILLET_DENIED, SKILLET_IO.
SKILLET_FN bool skillet_secret_exists(const skillet_secret_exists_request *request, skillet_secret_exists_response *response, skillet_error *err) {
	skillet_secret_exists_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "name", ask.name);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("look for secret %t", ask.name);
	*response = SKILLET_ZERO(skillet_secret_exists_response);
	skillet_str nothing;
	if (!skillet_request(skillet_import_secret_exists, subject, &meta, SKILLET_STR(""), &answer, &nothing, err)) return false;
	return (skillet_get_bool(answer, "exists", &response->exists, err)) || skillet_malformed(subject, err);
}

// skillet_log_request is what skillet_log takes. What is zero is left out.
typedef struct skillet_log_request {
	skillet_level level SKILLET_UNSET; // how much the line matters; info when it is left out
	const skillet_pair *fields SKILLET_UNSET; // named values beside the message; at most 16
	size_t fields_count SKILLET_UNSET;
	skillet_str body SKILLET_UNSET; // the message
} skillet_log_request;

SKILLET_C SKILLET_IMPORT("log") int64_t skillet_import_log(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_log writes a line to the log of the call, which is for people who look into a call
// afterwards. It needs no grant. Errors: SKILLET_INVALID, SKILLET_LIMIT.
SKILLET_FN bool skillet_log(const skillet_log_request *request, skillet_error *err) {
	skillet_log_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	if (ask.level == SKILLET_LEVEL_UNSET) ask.level = SKILLET_LEVEL_INFO;
	skillet_begin_object(&meta);
	if (ask.level != 0) skillet_add_string(&meta, "level", skillet_text(skillet_level_name(ask.level)));
	if (ask.fields_count != 0) skillet_add_pairs(&meta, "fields", ask.fields, ask.fields_count);
	skillet_end_object(&meta);
	skillet_str subject = SKILLET_STR("log");
	skillet_str nothing;
	return skillet_request(skillet_import_log, subject, &meta, ask.body, &answer, &nothing, err);
}

// skillet_notify_request is what skillet_notify takes. What is zero is left out.
typedef struct skillet_notify_request {
	skillet_severity severity SKILLET_UNSET; // how much it matters; info when it is left out
	skillet_str title; // one line of up to 200 bytes; not empty
	skillet_str body SKILLET_UNSET; // the text, up to 4096 bytes; it may be empty
} skillet_notify_request;

SKILLET_C SKILLET_IMPORT("notify") int64_t skillet_import_notify(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_notify sends a notification to the person who owns the host. It needs the grant
// notify. Errors: SKILLET_DENIED, SKILLET_INVALID, SKILLET_LIMIT, SKILLET_IO.
SKILLET_FN bool skillet_notify(const skillet_notify_request *request, skillet_error *err) {
	skillet_notify_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	if (ask.severity == SKILLET_SEVERITY_UNSET) ask.severity = SKILLET_SEVERITY_INFO;
	skillet_begin_object(&meta);
	if (ask.severity != 0) skillet_add_string(&meta, "severity", skillet_text(skillet_severity_name(ask.severity)));
	skillet_add_string(&meta, "title", ask.title);
	skillet_end_object(&meta);
	skillet_str subject = SKILLET_STR("notify");
	skillet_str nothing;
	return skillet_request(skillet_import_notify, subject, &meta, ask.body, &answer, &nothing, err);
}

// skillet_skill_call_request is what skillet_skill_call takes. What is zero is left out.
typedef struct skillet_skill_call_request {
	skillet_str skill; // name of the skill, without a version
	skillet_str tool SKILLET_UNSET; // name of the tool; it may be left out when the skill has only one
	skillet_str session SKILLET_UNSET; // name of the session to go on with, which takes the grant session:{skill}/{session} too
	skillet_str body SKILLET_UNSET; // the input of the tool
} skillet_skill_call_request;

// skillet_skill_call_response is what skillet_skill_call answers.
typedef struct {
	skillet_str body; // the output of the tool
} skillet_skill_call_response;

SKILLET_C SKILLET_IMPORT("skill_call") int64_t skillet_import_skill_call(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_skill_call calls a tool of another skill, which runs with its own grants and limits
// and within the time that the caller has left. It needs the grant skill:{skill}. Errors:
// SKILLET_DENIED, SKILLET_NOT_FOUND, SKILLET_INVALID, SKILLET_CONFLICT, SKILLET_LIMIT,
// SKILLET_TIMEOUT, SKILLET_FAILED.
SKILLET_FN bool skillet_skill_call(const skillet_skill_call_request *request, skillet_skill_call_response *response, skillet_error *err) {
	skillet_skill_call_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "skill", ask.skill);
	if (ask.tool.len != 0) skillet_add_string(&meta, "tool", ask.tool);
	if (ask.session.len != 0) skillet_add_string(&meta, "session", ask.session);
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("call skill %t", ask.skill);
	*response = SKILLET_ZERO(skillet_skill_call_response);
	return skillet_request(skillet_import_skill_call, subject, &meta, ask.body, &answer, &response->body, err);
}

// skillet_model_call_request is what skillet_model_call takes. What is zero is left out.
typedef struct skillet_model_call_request {
	skillet_str model; // name of the model, as the host knows it
	skillet_str system SKILLET_UNSET; // what the model is told before the prompt
	int64_t max_tokens SKILLET_UNSET; // the longest answer; 0 for the host's own limit, in tokens
	const double *temperature SKILLET_UNSET; // how freely the model chooses, from 0 to 2; left out, as the provider has it; null leaves it out
	skillet_format format SKILLET_UNSET; // what the answer is to be; text when it is left out
	skillet_str body SKILLET_UNSET; // the prompt
} skillet_model_call_request;

// skillet_model_call_response is what skillet_model_call answers.
typedef struct {
	skillet_str model; // the model that answered
	skillet_str finish_reason; // why the answer ends where it does
	int64_t input_tokens; // length of what was asked, in tokens
	int64_t output_tokens; // length of the answer, in tokens
	skillet_str body; // the answer
} skillet_model_call_response;

SKILLET_C SKILLET_IMPORT("model_call") int64_t skillet_import_model_call(const void *meta, uint32_t meta_length, const void *body, uint32_t body_length);

// skillet_model_call asks a language model; without a provider for the model it fails and says
// so. It needs the grant model:{model}. Errors: SKILLET_DENIED, SKILLET_INVALID, SKILLET_LIMIT,
// SKILLET_FAILED.
SKILLET_FN bool skillet_model_call(const skillet_model_call_request *request, skillet_model_call_response *response, skillet_error *err) {
	skillet_model_call_request ask = *request;
	skillet_buffer meta = {0};
	const skillet_value *answer;
	if (ask.format == SKILLET_FORMAT_UNSET) ask.format = SKILLET_FORMAT_TEXT;
	skillet_begin_object(&meta);
	skillet_add_string(&meta, "model", ask.model);
	if (ask.system.len != 0) skillet_add_string(&meta, "system", ask.system);
	if (ask.max_tokens != 0) skillet_add_int(&meta, "max_tokens", ask.max_tokens);
	if (ask.temperature != 0) skillet_add_float(&meta, "temperature", *ask.temperature);
	if (ask.format != 0) skillet_add_string(&meta, "format", skillet_text(skillet_format_name(ask.format)));
	skillet_end_object(&meta);
	skillet_str subject = skillet_textf("ask model %t", ask.model);
	*response = SKILLET_ZERO(skillet_model_call_response);
	if (!skillet_request(skillet_import_model_call, subject, &meta, ask.body, &answer, &response->body, err)) return false;
	return (skillet_get_string(answer, "model", &response->model, err) &&
		skillet_get_string(answer, "finish_reason", &response->finish_reason, err) &&
		skillet_get_int(answer, "input_tokens", &response->input_tokens, err) &&
		skillet_get_int(answer, "output_tokens", &response->output_tokens, err)) || skillet_malformed(subject, err);
}

// generated from sdk/hostapi/interface.json: end

// skillet_read_file reads a whole file, of any length. It needs the grant fs.read for the path.
SKILLET_FN bool skillet_read_file(skillet_str path, skillet_str *content, skillet_error *err) {
	skillet_fs_read_request ask = SKILLET_ZERO(skillet_fs_read_request);
	skillet_fs_read_response part;
	skillet_buffer all = {0};
	ask.path = path;
	do {
		ask.offset = (int64_t)all.len;
		if (!skillet_fs_read(&ask, &part, err)) return false;
		if (all.len == 0 && !part.truncated) { // most files
			*content = part.body;
			return true;
		}
		skillet_reserve(&all, part.truncated ? (size_t)part.size - all.len : part.body.len);
		skillet_put(&all, part.body);
	} while (part.truncated && part.body.len > 0);
	content->ptr = all.ptr;
	content->len = all.len;
	return !part.truncated || skillet_fail(err, SKILLET_LIMIT, "read %t: the host stopped after %l of %l bytes", path, (int64_t)all.len, part.size);
}

// skillet_log_line writes a line without fields to the log of the call.
SKILLET_FN bool skillet_log_line(skillet_level level, skillet_str message, skillet_error *err) {
	skillet_log_request line = SKILLET_ZERO(skillet_log_request);
	line.level = level;
	line.body = message;
	return skillet_log(&line, err);
}

#ifdef __cplusplus

// The namespace has the same for C++: results instead of out parameters, and classes to read and write JSON.
namespace skillet {

// Text is a skillet_str that literals can be.
struct Text : skillet_str {
	Text() : skillet_str{nullptr, 0} {}
	Text(const char *s) : skillet_str(skillet_text(s)) {}
	Text(skillet_str s) : skillet_str(s) {}
	Text(const char *ptr, size_t len) : skillet_str{ptr, len} {}
	bool empty() const { return len == 0; }
	bool operator==(Text other) const { return skillet_equal(*this, other); }
	bool operator!=(Text other) const { return !(*this == other); }
	const char *begin() const { return ptr; }
	const char *end() const { return ptr + len; }
};

// Status is success, or an error.
class Status {
public:
	Status() : error_{} {}
	Status(skillet_error error) : error_(error) {}
	Status(skillet_kind kind, Text message) : error_{kind, message} {}
	bool ok() const { return error_.kind == SKILLET_NO_ERROR; }
	explicit operator bool() const { return ok(); }
	skillet_kind kind() const { return error_.kind; }
	Text message() const { return error_.message; }
	const skillet_error &error() const { return error_; }

private:
	skillet_error error_;
};

// Result is a value, or an error.
template <class T> class Result : public Status {
public:
	Result(const T &value) : value_(value) {}
	Result(const Status &status) : Status(status), value_{} {}
	const T &operator*() const { return value_; }
	const T *operator->() const { return &value_; }

private:
	T value_;
};

// Object reads the members of a JSON object. One that is missing or null is what is given as otherwise. The first
// member of another type is an error that stays: look at status() before you act on what was read.
class Object {
public:
	Object(const skillet_value *value, skillet_error *err) : value_(value), err_(err) {}
	bool has(const char *name) const { return value_ != nullptr && skillet_find(value_, name) != nullptr; }
	Text text(const char *name, Text otherwise = {}) const { return get(skillet_get_string, name, static_cast<skillet_str>(otherwise)); }
	bool flag(const char *name, bool otherwise = false) const { return get(skillet_get_bool, name, otherwise); }
	int64_t integer(const char *name, int64_t otherwise = 0) const { return get(skillet_get_int, name, otherwise); }
	uint64_t natural(const char *name, uint64_t otherwise = 0) const { return get(skillet_get_uint, name, otherwise); }
	double number(const char *name, double otherwise = 0) const { return get(skillet_get_float, name, otherwise); }
	Object object(const char *name) const { return Object(get(skillet_get_object, name, static_cast<const skillet_value *>(nullptr)), err_); }
	const skillet_value *array(const char *name) const { return get(skillet_get_array, name, static_cast<const skillet_value *>(nullptr)); }
	const skillet_value *value() const { return value_; }
	Status status() const { return *err_; }

private:
	template <class T> T get(bool (*read)(const skillet_value *, const char *, T *, skillet_error *), const char *name, T otherwise) const {
		skillet_error later = {};
		T to = otherwise;
		if (value_ != nullptr && !read(value_, name, &to, err_->kind == SKILLET_NO_ERROR ? err_ : &later)) return otherwise;
		return to;
	}
	const skillet_value *value_;
	skillet_error *err_;
};

// Writer writes the members of a JSON object.
class Writer {
public:
	explicit Writer(skillet_buffer *to) : to_(to) {}
	Writer &text(const char *name, Text v) { return skillet_add_string(to_, name, v), *this; }
	Writer &flag(const char *name, bool v) { return skillet_add_bool(to_, name, v), *this; }
	Writer &integer(const char *name, int64_t v) { return skillet_add_int(to_, name, v), *this; }
	Writer &natural(const char *name, uint64_t v) { return skillet_add_uint(to_, name, v), *this; }
	Writer &number(const char *name, double v) { return skillet_add_float(to_, name, v), *this; }
	Writer &null(const char *name) { return skillet_add_null(to_, name), *this; }
	// object and array write what write does between their brackets: it is given a Writer, or the buffer.
	template <class F> Writer &object(const char *name, F write) {
		skillet_key(to_, name);
		skillet_begin_object(to_);
		write(*this);
		skillet_end_object(to_);
		return *this;
	}
	template <class F> Writer &array(const char *name, F write) {
		skillet_key(to_, name);
		skillet_begin_array(to_);
		write(to_);
		skillet_end_array(to_);
		return *this;
	}
	skillet_buffer *buffer() { return to_; }

private:
	skillet_buffer *to_;
};

// run runs one call of a tool whose output is an object.
inline bool run(Status (*tool)(Object, Writer), const skillet_value *in, skillet_buffer *out, skillet_error *err) {
	if (in->type != SKILLET_OBJECT) return skillet_wrong(in, "an object", err);
	skillet_begin_object(out);
	Status status = tool(Object(in, err), Writer(out));
	skillet_end_object(out);
	if (!status.ok()) *err = status.error();
	return err->kind == SKILLET_NO_ERROR;
}

// SKILLET_CPP_TOOL defines a tool that is exported by its name; the function's body follows: it reads in, writes the
// members of the output to out, and returns a Status.
#define SKILLET_CPP_TOOL(name)                                                                                   \
	static skillet::Status skillet_cpp_##name(skillet::Object in, skillet::Writer out);                          \
	SKILLET_TOOL(name) { return skillet::run(skillet_cpp_##name, in, out, err); }                                \
	static skillet::Status skillet_cpp_##name([[maybe_unused]] skillet::Object in, [[maybe_unused]] skillet::Writer out)

// generated from sdk/hostapi/interface.json: begin
// fs_read returns the content of a file, or a part of it. It needs the grant fs.read:{path}.
inline Result<skillet_fs_read_response> fs_read(const skillet_fs_read_request &request) {
	skillet_error err = {};
	skillet_fs_read_response response;
	if (!skillet_fs_read(&request, &response, &err)) return Status(err);
	return response;
}

// fs_write replaces a file, makes a new one, or writes behind the end of one. It needs the
// grant fs.write:{path}.
inline Result<skillet_fs_write_response> fs_write(const skillet_fs_write_request &request) {
	skillet_error err = {};
	skillet_fs_write_response response;
	if (!skillet_fs_write(&request, &response, &err)) return Status(err);
	return response;
}

// fs_list lists a directory, sorted by name, each directory before what is in it. It needs the
// grant fs.read:{path}.
inline Result<skillet_fs_list_response> fs_list(const skillet_fs_list_request &request) {
	skillet_error err = {};
	skillet_fs_list_response response;
	if (!skillet_fs_list(&request, &response, &err)) return Status(err);
	return response;
}

// fs_stat describes a file or directory; that there is none is an answer and no error. It needs
// the grant fs.read:{path}.
inline Result<skillet_fs_stat_response> fs_stat(const skillet_fs_stat_request &request) {
	skillet_error err = {};
	skillet_fs_stat_response response;
	if (!skillet_fs_stat(&request, &response, &err)) return Status(err);
	return response;
}

// http_request sends an HTTP request and returns the response; every redirect needs the grant
// too; a status of 400 or more is no error. It needs the grant http:{method} {url}.
inline Result<skillet_http_request_response> http_request(const skillet_http_request_request &request) {
	skillet_error err = {};
	skillet_http_request_response response;
	if (!skillet_http_request(&request, &response, &err)) return Status(err);
	return response;
}

// kv_get returns a value of the skill's own state; that there is none is an answer and no
// error. It needs the grant kv.
inline Result<skillet_kv_get_response> kv_get(const skillet_kv_get_request &request) {
	skillet_error err = {};
	skillet_kv_get_response response;
	if (!skillet_kv_get(&request, &response, &err)) return Status(err);
	return response;
}

// kv_put stores a value. It needs the grant kv.
inline Result<skillet_kv_put_response> kv_put(const skillet_kv_put_request &request) {
	skillet_error err = {};
	skillet_kv_put_response response;
	if (!skillet_kv_put(&request, &response, &err)) return Status(err);
	return response;
}

// kv_delete removes a value. It needs the grant kv.
inline Result<skillet_kv_delete_response> kv_delete(const skillet_kv_delete_request &request) {
	skillet_error err = {};
	skillet_kv_delete_response response;
	if (!skillet_kv_delete(&request, &response, &err)) return Status(err);
	return response;
}

// kv_list returns the keys that begin with a prefix, in order. It needs the grant kv.
inline Result<skillet_kv_list_response> kv_list(const skillet_kv_list_request &request) {
	skillet_error err = {};
	skillet_kv_list_response response;
	if (!skillet_kv_list(&request, &response, &err)) return Status(err);
	return response;
}

// secret_exists says whether a secret is stored; its value never reaches a skill: the host adds
// it to requests where the manifest says so. It needs the grant secret:{name}.
inline Result<skillet_secret_exists_response> secret_exists(const skillet_secret_exists_request &request) {
	skillet_error err = {};
	skillet_secret_exists_response response;
	if (!skillet_secret_exists(&request, &response, &err)) return Status(err);
	return response;
}

// log writes a line to the log of the call, which is for people who look into a call
// afterwards. It needs no grant.
inline Status log(const skillet_log_request &request) {
	skillet_error err = {};
	skillet_log(&request, &err);
	return err;
}

// notify sends a notification to the person who owns the host. It needs the grant notify.
inline Status notify(const skillet_notify_request &request) {
	skillet_error err = {};
	skillet_notify(&request, &err);
	return err;
}

// skill_call calls a tool of another skill, which runs with its own grants and limits and
// within the time that the caller has left. It needs the grant skill:{skill}.
inline Result<skillet_skill_call_response> skill_call(const skillet_skill_call_request &request) {
	skillet_error err = {};
	skillet_skill_call_response response;
	if (!skillet_skill_call(&request, &response, &err)) return Status(err);
	return response;
}

// model_call asks a language model; without a provider for the model it fails and says so. It
// needs the grant model:{model}.
inline Result<skillet_model_call_response> model_call(const skillet_model_call_request &request) {
	skillet_error err = {};
	skillet_model_call_response response;
	if (!skillet_model_call(&request, &response, &err)) return Status(err);
	return response;
}

// generated from sdk/hostapi/interface.json: end

// read_file reads a whole file, of any length. It needs the grant fs.read for the path.
inline Result<Text> read_file(Text path) {
	skillet_error err = {};
	skillet_str content = {};
	if (!skillet_read_file(path, &content, &err)) return Status(err);
	return Text(content);
}

// log writes a line to the log of the call.
inline Status log(skillet_level level, Text message) {
	skillet_error err = {};
	skillet_log_line(level, message, &err);
	return err;
}

} // namespace skillet

#endif

#pragma clang diagnostic pop
#endif
