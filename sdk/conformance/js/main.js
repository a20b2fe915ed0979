// The conformance skill in JavaScript.
import { fail as failWith, files, shape } from "skillet";

export * from "./functions.js";

const Values = shape.object({
	text: shape.string(""),
	int: shape.integer(0),
	float: shape.number(0),
	flag: shape.boolean(false),
	list: shape.list(shape.integer(), []),
	map: shape.map(shape.string(), {}),
	maybe: shape.nullable(shape.string()),
	inner: shape.object({ depth: shape.integer(0) }, {}),
});

export const values = (input) => Values(input);

export const fail = ({ kind, message }) => failWith(kind, message);

export function caught({ path }) {
	try {
		files.read(path);
		return { kind: "", message: "" };
	} catch (e) {
		return { kind: e.kind, message: e.message };
	}
}

export function read_file({ path }) {
	const content = files.read(path);
	let sum = 0;
	for (let i = 0; i < content.length; i++) sum += content[i];
	return { bytes: content.length, sum: sum % 2 ** 32 };
}
