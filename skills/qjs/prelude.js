// What a script finds besides the language itself. The file ends with the function
// that each call goes through; native (see driver.wat) is known in here only.
(() => {
	"use strict";
	const native = globalThis.__n;
	const { parse, stringify } = JSON; // a script may put something else there
	delete globalThis.__n;

	const define = (name, value) =>
		Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

	// ---- the host

	const functions = ["<functions>"]; // written by Prelude, in the order of the driver's

	const misuse = (message) => Object.assign(new TypeError(message), { kind: "invalid" });

	const bytesOf = (source) => {
		if (typeof source === "string") return new Uint8Array(native.s(source.toWellFormed()));
		if (source instanceof ArrayBuffer) return new Uint8Array(source);
		if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
		throw misuse("expected a string, an ArrayBuffer or a view of one");
	};

	const textOf = (bytes) => (bytes.byteLength === 0 ? "" : native.d(bytes.buffer, bytes.byteOffset, bytes.byteLength));

	// While a script is built there is no call whose grants the host could ask for.
	let building = true;

	const callHost = (name, meta, body) => {
		const index = functions.indexOf(name);
		if (index < 0) throw misuse(`the host has no function ${String(name)}`);
		if (typeof meta !== "string") throw misuse(`${name}: the request is a string of JSON`);
		if (building) throw Object.assign(new Error(`${name}: code outside of functions runs when the script is built, and cannot ask the host for anything; do it in the tool`), { kind: "denied" });
		const bytes = body == null ? new Uint8Array(0) : bytesOf(body);
		const both = native.c(index, meta.toWellFormed(), bytes.buffer, bytes.byteOffset, bytes.byteLength);
		const length = native.m();
		return { meta: native.d(both, 0, length), body: new Uint8Array(both.slice(length)) };
	};
	define("__skillet_call", callHost);

	// request is callHost with an answer that is an object, or an error with its kind.
	const request = (name, meta, body) => {
		const answer = callHost(name, stringify(meta), body);
		const parsed = parse(answer.meta);
		if (parsed.error) throw Object.assign(new Error(parsed.error.message), { kind: parsed.error.kind });
		return { meta: parsed, body: answer.body };
	};

	// ---- console

	const shown = (value, depth, seen) => {
		switch (typeof value) {
			case "string": return depth === 0 ? value : stringify(value);
			case "function": return `[function ${value.name || "anonymous"}]`;
			case "bigint": return `${value}n`;
			case "symbol": case "undefined": case "number": case "boolean": return String(value);
		}
		if (value === null) return "null";
		if (value instanceof Error) return errorText(value) + (value.stack ? "\n" + mapped(value.stack).trimEnd() : "");
		if (value instanceof Date) return isNaN(value) ? "Invalid Date" : value.toISOString();
		if (value instanceof RegExp) return String(value);
		if (seen.includes(value)) return "[circular]";
		if (depth > 4) return Array.isArray(value) ? "[array]" : "[object]";
		return composite(value, depth, [...seen, value]);
	};

	const composite = (value, depth, seen) => {
		const inner = (v) => shown(v, depth + 1, seen);
		const limit = 100;
		const list = (items, open, close) => {
			const all = [...items];
			const more = all.length > limit ? [`... ${all.length - limit} more`] : [];
			return open + [...all.slice(0, limit), ...more].join(", ") + close;
		};
		if (Array.isArray(value)) return list(value.map(inner), "[", "]");
		if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return `${value.constructor.name} ` + list(Array.from(value.subarray(0, limit + 1), String), "[", "]");
		if (value instanceof Map) return "Map " + list(Array.from(value, ([k, v]) => `${inner(k)} => ${inner(v)}`), "{", "}");
		if (value instanceof Set) return "Set " + list(Array.from(value, inner), "{", "}");
		const name = value.constructor && value.constructor !== Object ? value.constructor.name + " " : "";
		return name + list(Object.entries(value).map(([k, v]) => `${k}: ${inner(v)}`), "{", "}");
	};

	const logAt = (level) => (...values) => {
		if (!building) request("log", { level }, values.map((v) => shown(v, 0, [])).join(" "));
	};
	const counts = new Map();
	define("console", {
		log: logAt("info"), info: logAt("info"), debug: logAt("debug"), trace: logAt("debug"),
		warn: logAt("warn"), error: logAt("error"), table: logAt("info"), dir: logAt("info"),
		assert(ok, ...values) { if (!ok) this.error("assertion failed", ...values); },
		count(label = "default") {
			counts.set(label, (counts.get(label) ?? 0) + 1);
			this.log(`${label}: ${counts.get(label)}`);
		},
		group(...values) { if (values.length) this.log(...values); },
		groupEnd() {},
		time(label = "default") { timers.set(label, now()); },
		timeEnd(label = "default") { this.log(`${label}: ${(now() - (timers.get(label) ?? now())).toFixed(3)} ms`); },
	});
	const timers = new Map();

	// ---- events and abortion

	class Event {
		constructor(type) { this.type = String(type); this.target = null; }
	}
	class EventTarget {
		#listeners = new Map();
		addEventListener(type, listener, options) {
			const list = this.#listeners.get(type) ?? [];
			if (!list.some((l) => l.listener === listener)) list.push({ listener, once: !!(options && options.once) });
			this.#listeners.set(type, list);
		}
		removeEventListener(type, listener) {
			this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.listener !== listener));
		}
		dispatchEvent(event) {
			event.target = this;
			for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
				if (once) this.removeEventListener(event.type, listener);
				if (typeof listener === "function") listener.call(this, event);
				else listener.handleEvent(event);
			}
			return true;
		}
	}
	const named = (name, message) => Object.assign(new Error(message), { name });
	let newSignal;
	class AbortSignal extends EventTarget {
		aborted = false;
		reason = undefined;
		onabort = null;
		static {
			newSignal = () => new AbortSignal();
		}
		static abort(reason) {
			const c = new AbortController();
			c.abort(reason);
			return c.signal;
		}
		static timeout(milliseconds) {
			const c = new AbortController();
			setTimeout(() => c.abort(named("TimeoutError", "the time is up")), milliseconds);
			return c.signal;
		}
		static any(signals) {
			const c = new AbortController();
			for (const s of signals) {
				if (s.aborted) c.abort(s.reason);
				else s.addEventListener("abort", () => c.abort(s.reason));
			}
			return c.signal;
		}
		throwIfAborted() { if (this.aborted) throw this.reason; }
	}
	class AbortController {
		signal = newSignal();
		abort(reason = named("AbortError", "the operation was aborted")) {
			if (this.signal.aborted) return;
			Object.assign(this.signal, { aborted: true, reason });
			const event = new Event("abort");
			if (typeof this.signal.onabort === "function") this.signal.onabort(event);
			this.signal.dispatchEvent(event);
		}
	}
	Object.entries({ Event, EventTarget, AbortSignal, AbortController }).forEach(([k, v]) => define(k, v));

	// ---- text

	class TextEncoder {
		get encoding() { return "utf-8"; }
		encode(text = "") { return bytesOf(String(text)); }
		encodeInto(text, into) {
			let read = 0, written = 0;
			for (const c of String(text)) {
				const bytes = bytesOf(c);
				if (written + bytes.length > into.length) break;
				into.set(bytes, written);
				read += c.length;
				written += bytes.length;
			}
			return { read, written };
		}
	}

	// validUTF8 follows table 3-7 of the Unicode standard.
	const validUTF8 = (b) => {
		for (let i = 0; i < b.length;) {
			const c = b[i++];
			if (c < 0x80) continue;
			let n = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
			if (n === 0) return false;
			const low = c === 0xe0 ? 0xa0 : c === 0xf0 ? 0x90 : 0x80;
			const high = c === 0xed ? 0x9f : c === 0xf4 ? 0x8f : 0xbf;
			if (!(b[i] >= low && b[i] <= high)) return false;
			for (i++, n--; n > 0; i++, n--) if (!(b[i] >= 0x80 && b[i] <= 0xbf)) return false;
		}
		return true;
	};

	class TextDecoder {
		#latin = false;
		constructor(label = "utf-8", options = {}) {
			const name = String(label).trim().toLowerCase();
			if (["latin1", "iso-8859-1", "ascii", "us-ascii", "windows-1252"].includes(name)) this.#latin = true;
			else if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(name)) throw new RangeError(`TextDecoder: no encoding ${label}, only utf-8 and latin1`);
			this.fatal = !!options.fatal;
			this.ignoreBOM = !!options.ignoreBOM;
		}
		get encoding() { return this.#latin ? "iso-8859-1" : "utf-8"; }
		decode(source = new Uint8Array(0), options = {}) {
			if (options.stream) throw new TypeError("TextDecoder: decoding in parts is not supported; join the parts first");
			let bytes = bytesOf(source);
			if (this.#latin) {
				let text = "";
				for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
				return text;
			}
			if (this.fatal && !validUTF8(bytes)) throw new TypeError("TextDecoder: not valid UTF-8");
			if (!this.ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
			return textOf(bytes);
		}
	}
	define("TextEncoder", TextEncoder);
	define("TextDecoder", TextDecoder);

	// ---- URL (url.spec.whatwg.org, without international domain names)

	const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
	const special = (protocol) => Object.hasOwn(ports, protocol);
	const escapeBytes = (text, keep) => {
		let out = "";
		for (const c of text) {
			if (keep.test(c)) out += c;
			else for (const b of bytesOf(c)) out += "%" + b.toString(16).toUpperCase().padStart(2, "0");
		}
		return out;
	};
	const inPath = /[^\x00-\x20"#<>?^`{}\x7f-\u{10ffff}]/u;
	const inQuery = /[^\x00-\x20"#<>'\x7f-\u{10ffff}]/u;
	const inFragment = /[^\x00-\x20"<>`\x7f-\u{10ffff}]/u;
	const inUserInfo = /[^\x00-\x20"#<>?`{}/:;=@[\\\]^|\x7f-\u{10ffff}]/u;
	const inForm = /[A-Za-z0-9*\-._]/;

	class URLSearchParams {
		#list = [];
		#changed = null;
		constructor(init = "") {
			if (typeof init === "object" && init !== null) {
				const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
				for (const pair of pairs) {
					const [k, v, ...rest] = pair;
					if (v === undefined || rest.length) throw new TypeError("URLSearchParams: a pair has a name and a value");
					this.#list.push([String(k).toWellFormed(), String(v).toWellFormed()]);
				}
				return;
			}
			this.#parse(String(init).replace(/^\?/, ""));
		}
		static {
			attach = (params, changed) => { params.#changed = changed; };
			reparse = (params, query) => { params.#list = []; params.#parse(query); };
		}
		#parse(text) {
			for (const part of text.split("&")) {
				if (part === "") continue;
				const at = part.indexOf("=");
				const decode = (s) => unescapeBytes(s.replaceAll("+", " "));
				this.#list.push(at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]);
			}
		}
		#set(list) {
			this.#list = list;
			if (this.#changed) this.#changed(this.toString());
		}
		get size() { return this.#list.length; }
		append(k, v) { this.#set([...this.#list, [String(k), String(v)]]); }
		delete(k, v) { this.#set(this.#list.filter((p) => p[0] !== String(k) || (v !== undefined && p[1] !== String(v)))); }
		get(k) { return this.#list.find((p) => p[0] === String(k))?.[1] ?? null; }
		getAll(k) { return this.#list.filter((p) => p[0] === String(k)).map((p) => p[1]); }
		has(k, v) { return this.#list.some((p) => p[0] === String(k) && (v === undefined || p[1] === String(v))); }
		set(k, v) {
			const name = String(k), first = this.#list.findIndex((p) => p[0] === name);
			if (first < 0) return this.append(k, v);
			this.#set(this.#list.filter((p, i) => i <= first || p[0] !== name).map((p, i) => (i === first ? [name, String(v)] : p)));
		}
		sort() { this.#set(this.#list.toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))); }
		forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
		*entries() { for (const p of this.#list) yield [...p]; }
		*keys() { for (const p of this.#list) yield p[0]; }
		*values() { for (const p of this.#list) yield p[1]; }
		[Symbol.iterator]() { return this.entries(); }
		toString() {
			const encode = (s) => escapeBytes(s, inForm).replaceAll("%20", "+");
			return this.#list.map(([k, v]) => `${encode(k)}=${encode(v)}`).join("&");
		}
	}
	var attach, reparse;

	const unescapeBytes = (text) => {
		if (!text.includes("%")) return text;
		const bytes = bytesOf(text), out = new Uint8Array(bytes.length);
		let n = 0;
		for (let i = 0; i < bytes.length; i++) {
			const hex = bytes[i] === 37 && i + 2 < bytes.length ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : "";
			if (/^[0-9a-fA-F]{2}$/.test(hex)) {
				out[n++] = parseInt(hex, 16);
				i += 2;
			} else out[n++] = bytes[i];
		}
		return textOf(out.subarray(0, n));
	};

	const wrong = (text, why) => new TypeError(`URL: ${stringify(text.slice(0, 200))}: ${why}`);

	// parseHost takes domain names, IPv4 and IPv6 addresses of special schemes.
	const parseHost = (host, text) => {
		if (host.startsWith("[")) {
			if (!/^\[[0-9a-fA-F:.]+\]$/.test(host)) throw wrong(text, "not an IPv6 address");
			return host.toLowerCase();
		}
		const name = unescapeBytes(host).toLowerCase();
		if (/[^\x00-\x7f]/.test(name)) throw wrong(text, "the host has letters outside of ASCII; write it in its xn-- form");
		if (name === "" || /[\x00-\x20#%/:<>?@[\\\]^|\x7f]/.test(name)) throw wrong(text, "not a host");
		return parseIPv4(name, text) ?? name;
	};

	const parseIPv4 = (name, text) => {
		const parts = name.replace(/\.$/, "").split(".");
		if (!/^(\d+|0x[0-9a-f]*)$/.test(parts.at(-1))) return null;
		const numbers = parts.map((p) => (/^0x[0-9a-f]*$/.test(p) ? Number(p === "0x" ? 0 : p) : /^0[0-7]+$/.test(p) ? parseInt(p, 8) : /^\d+$/.test(p) ? Number(p) : NaN));
		const last = numbers.pop();
		if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length))) throw wrong(text, "not an IPv4 address");
		const value = numbers.reduce((sum, n, i) => sum + n * 256 ** (3 - i), last);
		return [24, 16, 8, 0].map((s) => Math.floor(value / 2 ** s) % 256).join(".");
	};

	const resolvePath = (path, base, isSpecial) => {
		const segments = base;
		const parts = (isSpecial ? path.replaceAll("\\", "/") : path).split("/");
		parts.forEach((raw, i) => {
			const dots = raw.replace(/%2e/gi, "."), last = i === parts.length - 1;
			if (dots === "..") {
				segments.pop();
				if (last) segments.push("");
			} else if (dots === ".") {
				if (last) segments.push("");
			} else segments.push(escapeBytes(raw, inPath));
		});
		return "/" + segments.join("/");
	};

	class URL {
		#u = { protocol: "", username: "", password: "", hostname: null, port: "", pathname: "", search: "", hash: "" };
		#params = null;
		constructor(url, base) {
			const text = String(url).trim().replace(/[\t\n\r]/g, "");
			this.#parse(text, base === undefined ? null : new URL(base));
		}
		static canParse(url, base) { return URL.parse(url, base) !== null; }
		static parse(url, base) {
			try { return new URL(url, base); } catch { return null; }
		}
		#parse(text, base) {
			const u = this.#u;
			let rest = text;
			const hash = rest.indexOf("#");
			if (hash >= 0) {
				u.hash = rest.slice(hash + 1) && "#" + escapeBytes(rest.slice(hash + 1), inFragment);
				rest = rest.slice(0, hash);
			}
			const scheme = /^[A-Za-z][A-Za-z0-9+.\-]*:/.exec(rest);
			const inherited = !scheme || (base && scheme[0].toLowerCase() === base.protocol && special(base.protocol) && !/^[^:]*:[\\/]/.test(rest));
			if (inherited) {
				if (!base) throw wrong(text, "it is relative, and there is no base");
				if (scheme) rest = rest.slice(scheme[0].length);
				return this.#relative(rest, base.#u, text);
			}
			u.protocol = scheme[0].toLowerCase();
			rest = this.#query(rest.slice(scheme[0].length));
			if (special(u.protocol)) {
				if (u.protocol === "file:") rest = /^[\\/]{2}/.test(rest) ? rest : "//" + (/^[\\/]/.test(rest) ? rest : "/" + rest);
				else rest = "//" + rest.replace(/^[\\/]*/, "");
			}
			if (rest.startsWith("//") || (special(u.protocol) && /^[\\/]{2}/.test(rest))) return this.#authority(rest.slice(2), text);
			u.pathname = rest.startsWith("/") ? resolvePath(rest.slice(1), [], false) : escapeBytes(rest, /[^\x00-\x1f\x7f-\u{10ffff}]/u);
		}
		#query(rest) {
			const at = rest.indexOf("?");
			if (at < 0) return rest;
			this.#u.search = rest.slice(at + 1) && "?" + escapeBytes(rest.slice(at + 1), inQuery);
			return rest.slice(0, at);
		}
		#authority(rest, text) {
			const u = this.#u, slash = special(u.protocol) ? rest.search(/[\\/]/) : rest.indexOf("/");
			let host = slash < 0 ? rest : rest.slice(0, slash);
			const at = host.lastIndexOf("@");
			if (at >= 0) {
				const [, name, , password] = /^([^:]*)(:([^]*))?$/.exec(host.slice(0, at));
				u.username = escapeBytes(name, inUserInfo);
				u.password = escapeBytes(password ?? "", inUserInfo);
				host = host.slice(at + 1);
			}
			const port = /:(\d*)$/.exec(host);
			if (port && !host.endsWith("]")) {
				host = host.slice(0, port.index);
				this.#port(port[1], text);
			}
			if (special(u.protocol)) u.hostname = u.protocol === "file:" && /^(localhost)?$/i.test(host) ? "" : parseHost(host, text);
			else if (/[\x00\x09\x0a\x0d #/<>?@[\\\]^|]/.test(host.replace(/^\[.*\]$/, ""))) throw wrong(text, "not a host");
			else u.hostname = escapeBytes(host, /[^\x00-\x1f\x7f-\u{10ffff}]/u);
			if (slash >= 0) u.pathname = resolvePath(rest.slice(slash + 1), [], special(u.protocol));
			else u.pathname = special(u.protocol) ? "/" : "";
		}
		#port(digits, text) {
			if (Number(digits) > 65535) throw wrong(text, "not a port");
			const port = digits === "" ? "" : String(Number(digits));
			this.#u.port = port === ports[this.#u.protocol] ? "" : port;
		}
		#relative(rest, b, text) {
			const u = this.#u, opaque = b.hostname === null && !b.pathname.startsWith("/");
			if (opaque && (rest !== "" || text === "")) throw wrong(text, "the base cannot be a base");
			u.protocol = b.protocol;
			const isSpecial = special(u.protocol), path = this.#query(rest);
			if (/^\/\//.test(path) || (isSpecial && /^[\\/]{2}/.test(path))) return this.#authority(path.slice(2), text);
			Object.assign(u, { username: b.username, password: b.password, hostname: b.hostname, port: b.port });
			if (path === "") {
				u.pathname = b.pathname;
				if (!rest.includes("?")) u.search = b.search;
			} else if (path.startsWith("/") || (isSpecial && path.startsWith("\\"))) u.pathname = resolvePath(path.slice(1), [], isSpecial);
			else u.pathname = resolvePath(path, b.pathname.split("/").slice(1, -1), isSpecial);
		}
		get protocol() { return this.#u.protocol; }
		set protocol(v) {
			const p = String(v).replace(/:.*$/, "").toLowerCase() + ":";
			if (/^[a-z][a-z0-9+.\-]*:$/.test(p) && special(p) === special(this.#u.protocol)) this.#u.protocol = p;
			this.#port(this.#u.port, "");
		}
		get username() { return this.#u.username; }
		set username(v) { if (this.#u.hostname) this.#u.username = escapeBytes(String(v), inUserInfo); }
		get password() { return this.#u.password; }
		set password(v) { if (this.#u.hostname) this.#u.password = escapeBytes(String(v), inUserInfo); }
		get hostname() { return this.#u.hostname ?? ""; }
		set hostname(v) { if (this.#u.hostname !== null) this.#u.hostname = parseHost(String(v), String(v)); }
		get port() { return this.#u.port; }
		set port(v) { if (this.#u.hostname) this.#port(/^\d*/.exec(String(v))[0], String(v)); }
		get host() { return this.hostname + (this.#u.port && ":" + this.#u.port); }
		set host(v) {
			const [, host, , port] = /^(\[[^\]]*\]|[^:]*)(:(\d*))?/.exec(String(v));
			this.hostname = host;
			if (port !== undefined) this.port = port;
		}
		get pathname() { return this.#u.pathname; }
		set pathname(v) {
			if (this.#u.hostname === null && !this.#u.pathname.startsWith("/")) return;
			this.#u.pathname = resolvePath(String(v).replace(/^[\\/]/, ""), [], special(this.#u.protocol)).replace(/[?#]/g, (c) => (c === "?" ? "%3F" : "%23"));
		}
		get search() { return this.#u.search; }
		set search(v) {
			const query = String(v).replace(/^\?/, "");
			this.#u.search = query && "?" + escapeBytes(query, inQuery);
			if (this.#params) reparse(this.#params, query);
		}
		get hash() { return this.#u.hash; }
		set hash(v) {
			const fragment = String(v).replace(/^#/, "");
			this.#u.hash = fragment && "#" + escapeBytes(fragment, inFragment);
		}
		get origin() { return special(this.protocol) && this.protocol !== "file:" ? `${this.protocol}//${this.host}` : "null"; }
		get searchParams() {
			if (!this.#params) {
				this.#params = new URLSearchParams(this.#u.search);
				attach(this.#params, (query) => { this.#u.search = query && "?" + query; });
			}
			return this.#params;
		}
		get href() {
			const u = this.#u;
			const user = u.username || u.password ? u.username + (u.password && ":" + u.password) + "@" : "";
			const authority = u.hostname === null ? "" : "//" + user + this.host;
			return u.protocol + authority + (u.hostname === null && u.pathname.startsWith("//") ? "/." : "") + u.pathname + u.search + u.hash;
		}
		set href(v) {
			const other = new URL(v);
			this.#u = other.#u;
			if (this.#params) reparse(this.#params, this.#u.search.slice(1));
		}
		toString() { return this.href; }
		toJSON() { return this.href; }
	}
	define("URL", URL);
	define("URLSearchParams", URLSearchParams);

	// ---- fetch

	class Headers {
		#map = new Map();
		constructor(init) {
			if (init == null) return;
			const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
			for (const [k, v] of pairs) this.append(k, v);
		}
		#name(k) {
			const name = String(k).toLowerCase();
			if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) throw new TypeError(`Headers: no header is called ${stringify(name)}`);
			return name;
		}
		append(k, v) {
			const name = this.#name(k), value = String(v).trim();
			if (/[\0\r\n]/.test(value)) throw new TypeError(`Headers: the value of ${name} has a line break`);
			this.#map.set(name, [...(this.#map.get(name) ?? []), value]);
		}
		set(k, v) { this.delete(k); this.append(k, v); }
		delete(k) { this.#map.delete(this.#name(k)); }
		has(k) { return this.#map.has(this.#name(k)); }
		get(k) { return this.#map.get(this.#name(k))?.join(", ") ?? null; }
		getSetCookie() { return [...(this.#map.get("set-cookie") ?? [])]; }
		forEach(f, self) { for (const [k, v] of this) f.call(self, v, k, this); }
		*entries() { for (const k of [...this.#map.keys()].sort()) yield [k, this.get(k)]; }
		*keys() { for (const [k] of this) yield k; }
		*values() { for (const [, v] of this) yield v; }
		[Symbol.iterator]() { return this.entries(); }
		static {
			listed = (headers) => Object.fromEntries(headers.#map);
		}
	}
	var listed;

	class Body {
		#bytes = null;
		#used = false;
		_body(source, headers) {
			if (source == null) return;
			if (source instanceof URLSearchParams) {
				if (!headers.has("content-type")) headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
				source = source.toString();
			} else if (typeof source === "string" && !headers.has("content-type")) headers.set("content-type", "text/plain;charset=UTF-8");
			this.#bytes = bytesOf(typeof source === "object" ? source : String(source));
		}
		get bodyUsed() { return this.#used; }
		#take() {
			if (this.#used) throw new TypeError("the body was read already");
			this.#used = this.#bytes !== null;
			return this.#bytes ?? new Uint8Array(0);
		}
		async bytes() { return this.#take().slice(); }
		async arrayBuffer() { return this.#take().slice().buffer; }
		async text() { return new TextDecoder().decode(this.#take()); }
		async json() { return parse(await this.text()); }
		_copy() {
			if (this.#used) throw new TypeError("the body was read already");
			return this.#bytes;
		}
	}
	class Request extends Body {
		constructor(input, init = {}) {
			super();
			const from = input instanceof Request ? input : null;
			this.url = new URL(from ? from.url : String(input)).href;
			this.method = String(init.method ?? from?.method ?? "GET").replace(/^(get|head|post|put|delete|options)$/i, (m) => m.toUpperCase());
			this.headers = new Headers(init.headers ?? from?.headers);
			this.signal = init.signal ?? from?.signal ?? null;
			const body = init.body ?? from?._copy();
			if (body != null && /^(GET|HEAD)$/.test(this.method)) throw new TypeError(`Request: ${this.method} has no body`);
			this._body(body, this.headers);
		}
		clone() { return new Request(this); }
	}
	class Response extends Body {
		constructor(body, init = {}) {
			super();
			this.status = init.status ?? 200;
			this.statusText = init.statusText ?? "";
			this.headers = new Headers(init.headers);
			this.url = "";
			this.redirected = false;
			this.type = "default";
			this._body(body, this.headers);
		}
		get ok() { return this.status >= 200 && this.status < 300; }
		clone() { return Object.assign(new Response(this._copy(), this), { url: this.url, redirected: this.redirected }); }
		static json(value, init = {}) {
			const headers = new Headers(init.headers);
			if (!headers.has("content-type")) headers.set("content-type", "application/json");
			return new Response(stringify(value), { ...init, headers });
		}
	}
	const fetch = async (input, init) => {
		const r = new Request(input, init);
		r.signal?.throwIfAborted();
		const meta = { method: r.method, url: r.url, headers: listed(r.headers) };
		let answer;
		try {
			answer = request("http_request", meta, r._copy());
		} catch (e) {
			throw Object.assign(new TypeError(`fetch ${r.url}: ${e.message}`), { kind: e.kind, cause: e });
		}
		const headers = new Headers();
		for (const [k, list] of Object.entries(answer.meta.headers ?? {})) for (const v of list) headers.append(k, v);
		const response = new Response(answer.body, { status: answer.meta.status, headers });
		return Object.assign(response, { url: answer.meta.url ?? r.url, redirected: (answer.meta.url ?? r.url) !== r.url });
	};
	Object.entries({ Headers, Request, Response, fetch }).forEach(([k, v]) => define(k, v));

	// ---- timers: time does not pass while a script waits, so the next one is due

	let waiting = [], nextTimer = 1, elapsed = 0;
	const addTimer = (f, delay, repeat, args) => {
		if (typeof f !== "function") throw new TypeError("a timer needs a function");
		const id = nextTimer++;
		const every = Math.max(Number(delay) || 0, repeat ? 1 : 0);
		waiting.push({ id, f, args, due: elapsed + every, every: repeat ? every : null });
		return id;
	};
	const dropTimer = (id) => { waiting = waiting.filter((t) => t.id !== id); };
	const runTimer = () => {
		if (waiting.length === 0) return false;
		const t = waiting.reduce((a, b) => (b.due < a.due ? b : a));
		elapsed = Math.max(elapsed, t.due);
		if (t.every === null) dropTimer(t.id);
		else t.due += t.every;
		t.f(...t.args);
		return true;
	};
	define("setTimeout", (f, delay, ...args) => addTimer(f, delay, false, args));
	define("setInterval", (f, delay, ...args) => addTimer(f, delay, true, args));
	define("clearTimeout", dropTimer);
	define("clearInterval", dropTimer);
	define("queueMicrotask", (f) => {
		if (typeof f !== "function") throw new TypeError("queueMicrotask needs a function");
		Promise.resolve().then(f);
	});

	// ---- randomness and time, fresh in each call

	let generator = null;
	const freshGenerator = () => {
		const s = new Uint32Array(native.r(16));
		if (s.every((w) => w === 0)) s[0] = 1;
		return s;
	};
	const rotate = (x, k) => (x << k) | (x >>> (32 - k));
	const next32 = () => { // xoshiro128**
		const s = (generator ??= freshGenerator());
		const result = Math.imul(rotate(Math.imul(s[1], 5), 7), 9) >>> 0, t = s[1] << 9;
		s[2] ^= s[0];
		s[3] ^= s[1];
		s[1] ^= s[2];
		s[0] ^= s[3];
		s[2] ^= t;
		s[3] = rotate(s[3], 11);
		return result;
	};
	Object.defineProperty(Math, "random", {
		value: function random() { return ((next32() >>> 5) * 67108864 + (next32() >>> 6)) / 9007199254740992; },
		writable: true, configurable: true, enumerable: false,
	});
	define("crypto", {
		getRandomValues(array) {
			if (!ArrayBuffer.isView(array) || array instanceof DataView || /Float/.test(array.constructor.name)) throw new TypeError("getRandomValues: not an array of integers");
			if (array.byteLength > 65536) throw named("QuotaExceededError", "getRandomValues: more than 65536 bytes");
			new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(new Uint8Array(native.r(array.byteLength)));
			return array;
		},
		randomUUID() {
			const b = new Uint8Array(native.r(16));
			b[6] = (b[6] & 0x0f) | 0x40;
			b[8] = (b[8] & 0x3f) | 0x80;
			const hex = Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");
			return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
		},
	});
	let origin = null;
	const start = () => (origin ??= { monotonic: native.t(), wall: Date.now() });
	const now = () => { const o = start(); return (native.t() - o.monotonic) / 1e6; };
	define("performance", { now, get timeOrigin() { return start().wall; }, toJSON() { return { timeOrigin: this.timeOrigin }; } });

	// ---- structuredClone

	const cannot = (what) => named("DataCloneError", `structuredClone: ${what} cannot be cloned`);
	const clone = (value, seen) => {
		if (typeof value === "function" || typeof value === "symbol") throw cannot(typeof value === "symbol" ? "a symbol" : `the function ${value.name}`);
		if (typeof value !== "object" || value === null) return value;
		if (seen.has(value)) return seen.get(value);
		const keep = (copy) => { seen.set(value, copy); return copy; };
		if (value instanceof Date) return keep(new Date(value.getTime()));
		if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
		if (value instanceof ArrayBuffer) return keep(value.slice(0));
		if (ArrayBuffer.isView(value)) return keep(new value.constructor(clone(value.buffer, seen), value.byteOffset, value.length ?? value.byteLength));
		if (value instanceof Boolean || value instanceof Number || value instanceof String) return keep(Object(value.valueOf()));
		if (value instanceof Map) {
			const copy = keep(new Map());
			for (const [k, v] of value) copy.set(clone(k, seen), clone(v, seen));
			return copy;
		}
		if (value instanceof Set) {
			const copy = keep(new Set());
			for (const v of value) copy.add(clone(v, seen));
			return copy;
		}
		if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) throw cannot(`a ${value.constructor.name}`);
		if (value instanceof Error) {
			const copy = keep(Object.create(Object.getPrototypeOf(value)));
			for (const k of ["name", "message", "stack", "cause"]) {
				if (Object.hasOwn(value, k)) Object.defineProperty(copy, k, { value: clone(value[k], seen), writable: true, configurable: true });
			}
			return copy;
		}
		const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
		for (const k of Object.keys(value)) copy[k] = clone(value[k], seen);
		return copy;
	};
	define("structuredClone", (value) => clone(value, new Map()));

	// ---- errors, with places in the files of the author

	let sourceMap = null; // of what was loaded: lines of segments, and files
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const decodeMappings = (text) => {
		const state = [0, 0, 0, 0, 0];
		return text.split(";").map((line) => {
			state[0] = 0;
			return line.split(",").filter(Boolean).map((segment) => {
				let field = 0, value = 0, shift = 0;
				for (const c of segment) {
					const digit = alphabet.indexOf(c);
					value += (digit & 31) << shift;
					if (digit & 32) { shift += 5; continue; }
					state[field++] += value & 1 ? -(value >> 1) : value >> 1;
					value = shift = 0;
				}
				return state.slice(0, 4);
			});
		});
	};
	const original = (line, column) => {
		if (!sourceMap) return null;
		if (typeof sourceMap.mappings === "string") sourceMap.mappings = decodeMappings(sourceMap.mappings);
		const segment = (sourceMap.mappings[line - 1] ?? []).findLast((s) => s[0] <= column - 1);
		return segment ? `${sourceMap.sources[segment[1]]}:${segment[2] + 1}:${segment[3] + 1}` : null;
	};
	const mapped = (stack) => String(stack).split("\n")
		.filter((line) => !/\bprelude\b/.test(line) && !/\(native\)$/.test(line) || line === "")
		.map((line) => line.replace(/script:(\d+)(?::(\d+))?/, (all, l, c) => original(Number(l), Number(c ?? 1)) ?? all)).join("\n");

	const errorText = (e) => {
		const name = String(e.name || "Error"), message = String(e.message ?? "");
		return name === "Error" ? message || name : message ? `${name}: ${message}` : name;
	};
	// place is where an error was made, such as main.js:3:7.
	const place = (e) => {
		if (!e || typeof e.stack !== "string") return "";
		const line = mapped(e.stack).split("\n").find((l) => /:\d+/.test(l)) ?? "";
		return /([^\s(]+:\d+(?::\d+)?)\)?\s*$/.exec(line)?.[1] ?? "";
	};
	// fail reports what was thrown. An error with a kind is meant for the caller, any
	// other is a mistake in the script, whose place helps to find it.
	const fail = (e) => {
		if (typeof e !== "object" || e === null) {
			native.e("failed", `the script threw ${shown(e, 1, [])}`.toWellFormed());
			return 1;
		}
		const meant = typeof e.kind === "string";
		const at = meant ? "" : place(e);
		const text = meant && e.message ? String(e.message) : errorText(e);
		native.e((meant && e.kind) || "failed", (text + (at && ` (at ${at})`)).toWellFormed());
		if (at && e.stack) logAt("debug")(mapped(e.stack).trimEnd());
		return 1;
	};

	// ---- calls

	// settled runs what waits until a promise is settled, and returns its value.
	const settled = (promise) => {
		let state = null;
		Promise.resolve(promise).then((value) => { state = { value }; }, (error) => { state = { error, failed: true }; });
		native.j();
		while (!state) {
			if (!runTimer()) throw new Error("the promise of the result is never settled: nothing is left to wait for");
			native.j();
		}
		if (state.failed) throw state.error;
		return state.value;
	};

	let tools = [];
	const load = () => {
		const program = parse(native.i());
		sourceMap = program.map ? { mappings: program.map.mappings, sources: program.map.sources } : null;
		native.v(program.code, "script");
		const exports = globalThis.__exports;
		globalThis.__exports = undefined;
		native.j();
		while (runTimer()) native.j();
		const names = Object.keys(exports).filter((name) => typeof exports[name] === "function" && name !== "default");
		if (typeof exports.default === "function" && !names.includes("run")) names.push("default");
		tools = names.map((name) => exports[name]);
		waiting = [];
		native.o(stringify(names.map((name) => (name === "default" ? "run" : name))));
		generator = origin = null;
		counts.clear();
		timers.clear();
		native.g();
		return 0;
	};

	const answer = (value) => {
		const text = stringify(value === undefined ? null : value);
		if (text === undefined) throw misuse(`the result is ${typeof value === "function" ? "a function" : "no value of JSON"}`);
		native.o(text.toWellFormed());
		return 0;
	};
	const input = () => {
		const text = native.i();
		try {
			return text === "" ? {} : parse(text);
		} catch (e) {
			throw misuse(`input: not valid JSON: ${e.message}`);
		}
	};
	// evaluate is the tool of the interpreter itself: it runs code and returns the
	// value of its last statement.
	const evaluate = () => {
		const { code } = input();
		if (typeof code !== "string") throw misuse("code is the text of a script");
		return answer(settled(native.v(code.toWellFormed(), "script")) ?? null);
	};

	return (index) => {
		try {
			building = index === -1;
			if (building) return load();
			generator = origin = null;
			if (index === -2) return evaluate();
			if (index >= tools.length) throw misuse("there is no such tool");
			return answer(settled(tools[index](input())));
		} catch (e) {
			return fail(e);
		}
	};
})();
