// The text guest in C: count gives figures of the input, echo gives it back.
#include "io.h"

// tag makes modules differ from each other: the benchmark of many loaded
// skills writes another number over it.
EXPORT("tag") const char *tag(void) { return "bench-tag:00000000"; }

static int is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int is_vowel(uint8_t c) {
	c |= 0x20;
	return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

static uint8_t *put_text(uint8_t *to, const char *text) {
	while (*text) {
		*to++ = (uint8_t)*text++;
	}
	return to;
}

static uint8_t *put_number(uint8_t *to, uint32_t n) {
	uint8_t digits[10];
	int i = 0;
	do {
		digits[i++] = (uint8_t)('0' + n % 10);
		n /= 10;
	} while (n);
	while (i) {
		*to++ = digits[--i];
	}
	return to;
}

EXPORT("count") int32_t count(void) {
	heap_reset();
	size_t n;
	const uint8_t *text = input(&n);
	uint32_t words = 0, vowels = 0;
	int inside = 0;
	for (size_t i = 0; i < n; i++) {
		int space = is_space(text[i]);
		words += (uint32_t)(!space && !inside);
		vowels += (uint32_t)is_vowel(text[i]);
		inside = !space;
	}
	uint8_t answer[80];
	uint8_t *end = put_number(put_text(answer, "{\"bytes\":"), (uint32_t)n);
	end = put_number(put_text(end, ",\"words\":"), words);
	end = put_number(put_text(end, ",\"vowels\":"), vowels);
	end = put_text(end, "}");
	output(answer, (size_t)(end - answer));
	return 0;
}

EXPORT("echo") int32_t echo(void) {
	heap_reset();
	size_t n;
	const uint8_t *text = input(&n);
	output(text, n);
	return 0;
}
