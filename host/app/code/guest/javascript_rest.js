// What a script needs that calls tools, waits or fails: javascript.js asks for it.
0, function (code, host, run) {
	"use strict";
	const { parse, stringify } = JSON, { assign } = Object;
	const failed = Error, syntax = SyntaxError, decoder = new TextDecoder();

	// The two functions that a script has below it are not places in the script: see place.
	const __call = (skill, tool, input) => {
		if (input === undefined) input = {};
		const body = stringify(input);
		if (body === undefined) return Promise.reject(new TypeError(`tools.${skill}: the input is no value of JSON`));
		const answer = host("skill_call", stringify(tool === undefined ? { skill } : { skill, tool }), body);
		const { error } = parse(answer.meta);
		if (!error) return Promise.resolve(parse(decoder.decode(answer.body)));
		return Promise.reject(assign(new failed(error.message), { name: "ToolError", kind: error.kind, skill, tool }));
	};
	const toolOf = (skill, tool) => {
		const __apply = (_, __, [input]) => __call(skill, tool, input);
		return new Proxy(() => {}, {
			get: (_, name) => (tool === undefined && typeof name === "string" && name !== "then" ? toolOf(skill, name) : undefined),
			apply: __apply,
		});
	};
	const tool = (name) => (typeof name === "string" && name !== "then" ? toolOf(name) : undefined);

	// fault is why a text is not a program; undefined when it is one. Nothing of it runs.
	const stop = {}, own = "throw __stop;";
	const fault = (text) => {
		globalThis.__stop = stop;
		try {
			run(own + text);
		} catch (e) {
			return e === stop ? undefined : e;
		} finally {
			delete globalThis.__stop;
		}
	};
	const place = (e) => {
		const stack = typeof e === "object" && e !== null && typeof e.stack === "string" ? e.stack : "";
		const at = /<input>:(\d+)(?::(\d+))?/.exec(stack.replace(/^ *at __(?:call|apply) .*$/gm, ""));
		return at ? { line: Number(at[1]), column: Number(at[2] ?? 1) } : {};
	};

	// A program that waits is the body of a function. Its last expression is its value, as that
	// of a program is that does not wait, unless it returns one.
	const open = "(async () => {", close = "\n})()", keep = "__value = (", give = "\n); return __value";
	let moved = 0; // the line on which `keep` stands
	const body = (text) => {
		const whole = text.trimEnd().replace(/;+$/, ""), starts = [0];
		for (let i = 0; i < whole.length; i++) if (whole[i] === "\n" || (whole[i] === ";" && whole.indexOf("\n", i) < 0)) starts.push(i + 1);
		for (const at of starts.reverse().slice(0, 100)) {
			const before = whole.slice(0, at), last = whole.slice(at);
			if (last.trim() === "" || /^\s*\/[/*]/.test(last)) continue;
			// It may go on with what is before, unless another word could stand there.
			if (/^\s*[([`+\-/]/.test(last) && before.trim() !== "" && fault(open + before.trimEnd() + " x" + close)) continue;
			if (fault(open + before + close) || fault(open + keep + last + give + close)) continue;
			moved = before.split("\n").length;
			return open + before + keep + last + give + close;
		}
		return open + text + close;
	};
	let prefix = 0;
	// program is what is run of a text that is not a program, for the reason plain.
	const program = (plain) => {
		const waits = fault(open + code + close);
		if (!waits) {
			prefix = open.length;
			return body(code);
		}
		// The error of the reading that went further is the one that helps.
		const a = place(plain), b = place(waits);
		a.column -= a.line === 1 ? own.length : 0;
		b.column -= b.line === 1 ? own.length + open.length : 0;
		const further = b.line > a.line || (b.line === a.line && b.column > a.column);
		const end = code.split("\n").length, at = further && b.line <= end ? b : a;
		throw assign(new syntax((at === b ? waits : plain).message), { at });
	};
	const where = (e) => {
		const at = e && e.at ? e.at : place(e);
		if (!e || e.at || at.line === undefined) return at;
		if (at.line === 1) at.column -= prefix;
		if (at.line === moved) at.column -= keep.length;
		at.column = Math.max(at.column, 1);
		return at;
	};
	const failure = (e) => {
		if (typeof e !== "object" || e === null) return { error: { message: `the script threw ${stringify(e) ?? String(e)}` } };
		const name = String(e.name || "Error"), message = String(e.message ?? "");
		const text = name === "Error" || name === "ToolError" ? message || name : message ? `${name}: ${message}` : name;
		const error = { message: text, ...where(e) };
		if (name === "ToolError" && typeof e.kind === "string") error.kind = e.kind;
		return { error };
	};
	return { tool, program, failure };
}
