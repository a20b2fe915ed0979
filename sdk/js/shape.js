// Shapes of values: what is read with one is what its type says.
import { fail } from "./request.js";

const called = (value) => {
	if (value === null) return "null";
	if (Array.isArray(value)) return "an array";
	if (typeof value === "boolean") return "true or false";
	return { string: "a string", number: "this number", object: "an object", undefined: "missing" }[typeof value] ?? `a ${typeof value}`;
};
const wrong = (value, expected, path) => fail("invalid", `${path || "input"}: must be ${expected}, not ${called(value)}`);
const inside = (path, name) => (path ? `${path}.${name}` : name);

// shaped makes a shape of what reads a value that is there. fallback is what stands for one that is not.
const shaped = (read, fallback) => (value, path = "") => {
	if (value !== undefined && value !== null) return read(value, path);
	if (fallback === undefined) return value === null ? read(value, path) : fail("invalid", `${path || "input"}: is missing`);
	return read(fallback, path);
};

const plain = (holds, expected) => (fallback) => shaped((v, path) => (holds(v) ? v : wrong(v, expected, path)), fallback);

export const shape = Object.freeze({
	string: plain((v) => typeof v === "string", "a string"),
	integer: plain((v) => Number.isSafeInteger(v), "a whole number in range"),
	number: plain((v) => typeof v === "number" && Number.isFinite(v), "a number"),
	boolean: plain((v) => typeof v === "boolean", "true or false"),
	any: () => (value) => value ?? null,
	oneOf: (words, fallback) => plain((v) => words.includes(v), `one of ${words.join(", ")}`)(fallback),
	nullable: (of) => (value, path) => (value === undefined || value === null ? null : of(value, path)),
	list: (of, fallback) =>
		shaped((v, path) => (Array.isArray(v) ? v.map((e, i) => of(e, `${path}[${i}]`)) : wrong(v, "an array", path)), fallback),
	map: (of, fallback) => shaped((v, path) => fromEntries(v, path, (members) =>
		Object.entries(members).map(([name, e]) => [name, of(e, inside(path, name))])), fallback),
	object: (shapes, fallback) => shaped((v, path) => fromEntries(v, path, (members) =>
		Object.entries(shapes).map(([name, of]) => [name, of(Object.hasOwn(members, name) ? members[name] : undefined, inside(path, name))])), fallback),
});

const fromEntries = (value, path, entries) => {
	if (typeof value !== "object" || value === null || Array.isArray(value)) wrong(value, "an object", path);
	return Object.fromEntries(entries(value));
};
