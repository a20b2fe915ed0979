// The conformance skill in TypeScript.
import { fail as failWith, files, shape, SkilletError, type Infer, type Kind } from "skillet";

export * from "./functions";

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

export function values(input: unknown): Infer<typeof Values> {
	return Values(input);
}

interface Failure {
	kind: Kind | "";
	message: string;
}

export function fail({ kind, message }: { kind: Kind; message: string }): never {
	failWith(kind, message);
}

export function caught({ path }: { path: string }): Failure {
	try {
		files.read(path);
		return { kind: "", message: "" };
	} catch (e) {
		if (e instanceof SkilletError) return { kind: e.kind, message: e.message };
		throw e;
	}
}

export function read_file({ path }: { path: string }): { bytes: number; sum: number } {
	const content = files.read(path);
	let sum = 0;
	for (let i = 0; i < content.length; i++) sum += content[i]!;
	return { bytes: content.length, sum: sum % 2 ** 32 };
}
