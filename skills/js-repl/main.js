// A notebook of JavaScript: each piece of code goes on with what the ones before it
// declared, as long as they are calls of one session.

const run = globalThis.eval; // called by another name, it works on the global object

// The tool is called eval, which is no name that a module may declare.
export { evaluate as eval };

async function evaluate({ code }) {
	return shown(await attempt(code));
}

// attempt runs code, with await outside of functions if it has some.
async function attempt(code) {
	const text = lasting(code);
	if (!/\bawait\b/.test(text)) return run(text);
	try {
		return await run(`(async () => (${text}\n))()`);
	} catch (e) {
		if (!(e instanceof SyntaxError)) throw e;
		return await run(awaiting(code));
	}
}

// awaiting is code for the body of a function, whose declarations outlast it.
function awaiting(code) {
	const names = [];
	const text = lasting(code, (name) => names.push(name));
	return `(async () => {${names.map((n) => `var ${n};`).join("")} try { ${text}\n } finally { ${names
		.map((n) => `globalThis.${n} = ${n};`).join("")} } })()`;
}

// shown is a value as JSON has it: what JSON has no form for is text.
function shown(value) {
	if (value === undefined) return null;
	if (typeof value === "bigint") return `${value}n`;
	if (typeof value === "function" || typeof value === "symbol") return String(value);
	if (value instanceof Map || value instanceof Set) return [...value].map(shown);
	try {
		JSON.stringify(value);
		return value;
	} catch {
		return String(value);
	}
}

// lasting makes code whose declarations outside of functions and blocks outlast it,
// and can be made again: let, const and class become var. declared is told the names
// that var declares.
function lasting(code, declared = () => {}) {
	let out = "", depth = 0, begin = true; // begin: a statement may begin here
	let before = ""; // the last token that is not white space
	for (let i = 0; i < code.length; ) {
		const token = next(code, i, before);
		i += token.length;
		if (/^\s+$|^\/\/|^\/\*/.test(token)) {
			begin ||= depth === 0 && /\n/.test(token) && !/^[-+*%&|^=<>?:,.([{!~]$/.test(before);
			out += token;
			continue;
		}
		const rest = code.slice(i);
		if (depth === 0 && begin && (token === "let" || token === "const" || token === "var") && /^\s*[\p{ID_Start}$_[{]/u.test(rest)) {
			const name = /^\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(rest);
			if (name) declared(name[1]);
			out += "var";
		} else if (depth === 0 && begin && token === "class" && /^\s+[\p{ID_Start}$_]/u.test(rest)) {
			const name = /^\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(rest)[1];
			declared(name);
			out += `var ${name} = class`;
		} else {
			out += token;
		}
		if ("([{".includes(token)) depth++;
		if (")]}".includes(token)) depth = Math.max(0, depth - 1);
		begin = depth === 0 && (token === ";" || token === "}");
		before = token;
	}
	return out;
}

// next is the token at a place: white space, a comment, a name or number, text, a
// regular expression, or one character.
function next(code, at, before) {
	const c = code[at];
	for (const shape of [/\s+/y, /\/\/[^\n]*/y, /\/\*[^]*?(\*\/|$)/y, /[\p{ID_Start}$_\d][\p{ID_Continue}$]*/uy, /"(\\[^]|[^"\\\n])*"?/y, /'(\\[^]|[^'\\\n])*'?/y]) {
		shape.lastIndex = at;
		const found = shape.exec(code);
		if (found) return found[0];
	}
	if (c === "`") return template(code, at);
	if (c === "/" && /^$|^[-+*%&|^=<>?:,;([{}!~]$|^(return|typeof|case|in|of|void|delete|throw|await|yield)$/.test(before)) {
		const regexp = /\/(\\.|\[(\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
		regexp.lastIndex = at;
		const found = regexp.exec(code);
		if (found) return found[0];
	}
	return c;
}

// template is a template literal, with whatever stands in its placeholders.
function template(code, at) {
	let i = at + 1;
	while (i < code.length && code[i] !== "`") {
		if (code[i] === "\\") i++;
		else if (code.startsWith("${", i)) {
			let depth = 1, before = "{";
			for (i += 2; i < code.length && depth > 0; ) {
				const token = next(code, i, before);
				if (token === "{") depth++;
				if (token === "}") depth--;
				if (!/^\s+$/.test(token)) before = token;
				i += token.length;
			}
			continue;
		}
		i++;
	}
	return code.slice(at, Math.min(i + 1, code.length));
}
