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

// call passes the input to a global function and writes its result.
static int32_t call(const char *name) {
	size_t n;
	uint8_t *text = input(&n);
	JSValue global = JS_GetGlobalObject(context);
	JSValue function = JS_GetPropertyStr(context, global, name);
	JSValue argument = JS_NewStringLen(context, (const char *)text, n);
	free(text);
	JSValue result = JS_Call(context, function, global, 1, &argument);
	const char *answer = JS_ToCStringLen(context, &n, result);
	if (answer) {
		output((const uint8_t *)answer, n);
		JS_FreeCString(context, answer);
	}
	JS_FreeValue(context, result);
	JS_FreeValue(context, argument);
	JS_FreeValue(context, function);
	JS_FreeValue(context, global);
	return answer ? 0 : 1;
}

EXPORT("count") int32_t count(void) { return call("count"); }
EXPORT("echo") int32_t echo(void) { return call("echo"); }
