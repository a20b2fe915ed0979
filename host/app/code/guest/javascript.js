// Runs a script of a caller, in the interpreter's own tool: it is the call of a function with the
// script, and answers {value} or {error}. It is short, because compiling it takes longer than all else
// that is done for a short script: what is needed when a script calls tools, waits or fails is in
// javascript_rest.js, which is asked for then. It does not begin with a parenthesis, behind which the
// interpreter would look twice at everything.
0, async function (asked) {
	"use strict";
	const code = asked.code, g = globalThis, host = g.__skillet_call, run = eval, { parse, stringify } = JSON;
	let made, plain;
	const rest = () => made ??= run(parse(host("skill_call", '{"rest":true}').meta).rest)(code, host, run);
	delete g.__skillet_call;
	g.tools = new Proxy({}, { get: (_, name) => rest().tool(name) });
	if (asked.given) g.data = parse(new TextDecoder().decode(host("skill_call", '{"data":true}').body));
	try {
		// plain is why the script is not a program that runs as it stands. Nothing of it runs here.
		g.__stop = run;
		try {
			run("throw __stop;" + code);
		} catch (e) {
			if (e !== run) plain = e;
		}
		delete g.__stop;
		let value = await run(plain ? rest().program(plain) : code);
		if (typeof value === "function") value = await value();
		value = stringify(value ?? null);
		if (value === undefined) throw new TypeError("the value is no value of JSON");
		return { value: parse(value) };
	} catch (e) {
		return rest().failure(e);
	}
}
