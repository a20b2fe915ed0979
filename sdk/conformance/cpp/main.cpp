// The conformance skill in C++: input, output and errors.
#include "skillet.h"

using skillet::Object;
using skillet::Status;
using skillet::Text;
using skillet::Writer;

SKILLET_C SKILLET_EXPORT("echo") int32_t echo() {
	Text in = skillet_input();
	for (size_t at = 0; at < in.len; at += 100000) {
		size_t rest = in.len - at;
		skillet_output(Text(in.ptr + at, rest < 100000 ? rest : 100000));
	}
	return 0;
}

SKILLET_CPP_TOOL(values) {
	skillet_error err = {};
	const skillet_pair *map = nullptr;
	size_t pairs = 0;
	Text text = in.text("text");
	int64_t integer = in.integer("int");
	double number = in.number("float");
	bool flag = in.flag("flag");
	const skillet_value *list = in.array("list");
	Text maybe = in.text("maybe");
	int64_t depth = in.object("inner").integer("depth");
	if (!in.status()) return in.status();
	if (!skillet_get_pairs(in.value(), "map", false, &map, &pairs, &err)) return err;
	out.text("text", text).integer("int", integer).number("float", number).flag("flag", flag);
	out.array("list", [&](skillet_buffer *to) {
		for (const skillet_value *e = list ? list->first : nullptr; e; e = e->next) {
			int64_t n = 0;
			skillet_as_int(e, &n, &err);
			skillet_write_int(to, n);
		}
	});
	skillet_add_pairs(out.buffer(), "map", map, pairs);
	if (in.has("maybe")) out.text("maybe", maybe);
	else out.null("maybe");
	out.object("inner", [&](Writer to) { to.integer("depth", depth); });
	return err;
}

SKILLET_CPP_TOOL(fail) { return Status(skillet_kind_of(in.text("kind")), in.text("message")); }

SKILLET_CPP_TOOL(caught) {
	auto content = skillet::read_file(in.text("path"));
	out.text("kind", skillet_kind_name(content.kind())).text("message", content.message());
	return {};
}

SKILLET_CPP_TOOL(read_file) {
	auto content = skillet::read_file(in.text("path"));
	if (!content) return content;
	uint32_t sum = 0;
	for (char c : *content) sum += static_cast<unsigned char>(c);
	out.natural("bytes", content->len).natural("sum", sum);
	return {};
}
