// The text guest in JavaScript: this driver holds a QuickJS context, evaluates
// the script once when the module is initialised, and calls its functions with
// the input. Which interface it speaks is io.h's matter.
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"

#define heap_take malloc
#include "io.h"

static const char script[] = {
#embed "text.js"
	,
	0,
};

static JSContext *context;

// wasi-libc runs constructors from _initialize.
__attribute__((constructor)) static void open(void) {
	JSRuntime *runtime = JS_NewRuntime();
	JS_SetMaxStackSize(runtime, 256 * 1024);
	context = JS_NewContext(runtime);
	JSValue result = JS_Eval(context, script, sizeof script - 1, "text.js", JS_EVAL_TYPE_GLOBAL);
	if (JS_IsException(result)) {
		abort();
	}
	JS_FreeValue(context, result);
}

static void *resize(JSRuntime *runtime, void *opaque, void *bytes, size_t n) {
	if (n == 0) {
		free(bytes);
		return NULL;
	}
	return realloc(bytes, n);
}

static JSValue as_string(uint8_t *bytes, size_t n) {
	JSValue text = JS_NewStringLen(context, (const char *)bytes, n);
	free(bytes);
	return text;
}

static JSValue as_bytes(uint8_t *bytes, size_t n) {
	return JS_NewArrayBuffer(context, bytes, n, 0, resize, NULL, false);
}

// answer writes an ArrayBuffer as it is, and anything else as a string.
static int32_t answer(JSValue result) {
	size_t n;
	if (JS_IsArrayBuffer(result)) {
		const uint8_t *bytes = JS_GetArrayBuffer(context, &n, result);
		output(bytes, n);
		return 0;
	}
	const char *text = JS_ToCStringLen(context, &n, result);
	if (!text) {
		return 1;
	}
	output((const uint8_t *)text, n);
	JS_FreeCString(context, text);
	return 0;
}

// call passes the input to a global function and writes its result.
static int32_t call(const char *name, JSValue (*as)(uint8_t *, size_t)) {
	size_t n;
	uint8_t *bytes = input(&n);
	JSValue global = JS_GetGlobalObject(context);
	JSValue function = JS_GetPropertyStr(context, global, name);
	JSValue argument = as(bytes, n);
	JSValue result = JS_Call(context, function, global, 1, &argument);
	int32_t code = answer(result);
	JS_FreeValue(context, result);
	JS_FreeValue(context, argument);
	JS_FreeValue(context, function);
	JS_FreeValue(context, global);
	return code;
}

EXPORT("count") int32_t count(void) { return call("count", as_string); }
EXPORT("echo") int32_t echo(void) { return call("echo", as_bytes); }
