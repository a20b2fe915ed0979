// The conformance skill in C: input, output and errors.
#include "skillet.h"

SKILLET_EXPORT("echo") int32_t echo(void);
int32_t echo(void) {
	skillet_str in = skillet_input();
	while (in.len > 0) {
		skillet_str part = {in.ptr, in.len < 100000 ? in.len : 100000};
		skillet_output(part);
		in.ptr += part.len;
		in.len -= part.len;
	}
	return 0;
}

typedef struct {
	skillet_str text, maybe;
	int64_t integer, depth;
	double number;
	bool flag;
	const skillet_value *list;
	const skillet_pair *map;
	size_t map_count;
} values;

static bool read_values(const skillet_value *in, values *v, skillet_error *err) {
	const skillet_value *inner;
	return skillet_get_string(in, "text", &v->text, err) && skillet_get_int(in, "int", &v->integer, err) &&
		skillet_get_float(in, "float", &v->number, err) && skillet_get_bool(in, "flag", &v->flag, err) &&
		skillet_get_array(in, "list", &v->list, err) && skillet_get_pairs(in, "map", false, &v->map, &v->map_count, err) &&
		skillet_get_string(in, "maybe", &v->maybe, err) && skillet_get_object(in, "inner", &inner, err) &&
		(inner == 0 || skillet_get_int(inner, "depth", &v->depth, err));
}

SKILLET_TOOL(values) {
	values v = {0};
	if (!read_values(in, &v, err)) return false;
	skillet_begin_object(out);
	skillet_add_string(out, "text", v.text);
	skillet_add_int(out, "int", v.integer);
	skillet_add_float(out, "float", v.number);
	skillet_add_bool(out, "flag", v.flag);
	skillet_key(out, "list");
	skillet_begin_array(out);
	for (const skillet_value *e = v.list ? v.list->first : 0; e != 0; e = e->next) {
		int64_t n = 0;
		if (!skillet_as_int(e, &n, err)) return false;
		skillet_write_int(out, n);
	}
	skillet_end_array(out);
	skillet_add_pairs(out, "map", v.map, v.map_count);
	if (skillet_find(in, "maybe") != 0) skillet_add_string(out, "maybe", v.maybe);
	else skillet_add_null(out, "maybe");
	skillet_key(out, "inner");
	skillet_begin_object(out);
	skillet_add_int(out, "depth", v.depth);
	skillet_end_object(out);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(fail) {
	skillet_str kind = {0}, message = {0};
	if (!skillet_get_string(in, "kind", &kind, err) || !skillet_get_string(in, "message", &message, err)) return false;
	return skillet_fail(err, skillet_kind_of(kind), "%t", message);
}

SKILLET_TOOL(caught) {
	skillet_str path = {0}, content;
	skillet_error caught = {0};
	if (!skillet_get_string(in, "path", &path, err)) return false;
	skillet_read_file(path, &content, &caught);
	skillet_begin_object(out);
	skillet_add_string(out, "kind", skillet_text(skillet_kind_name(caught.kind)));
	skillet_add_string(out, "message", caught.message);
	skillet_end_object(out);
	return true;
}

SKILLET_TOOL(read_file) {
	skillet_str path = {0}, content = {0};
	uint32_t sum = 0;
	if (!skillet_get_string(in, "path", &path, err) || !skillet_read_file(path, &content, err)) return false;
	for (size_t i = 0; i < content.len; i++) sum += (unsigned char)content.ptr[i];
	skillet_begin_object(out);
	skillet_add_uint(out, "bytes", content.len);
	skillet_add_uint(out, "sum", sum);
	skillet_end_object(out);
	return true;
}
