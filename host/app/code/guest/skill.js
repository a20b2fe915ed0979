// A script that ran with the tools of skills as functions, as a skill. These are the lines of the
// script, as they ran; what is below runs them, and hands their calls to the skills.
const code = __CODE__.join("\n");

// Tools that take a text as it stands, and whether the script has data, and which member of the input that is.
const texts = __TEXTS__, given = __GIVEN__, member = __MEMBER__;

// What runs it, and the part of that which is asked for when it is needed.
const execute = (
__GUEST__
);
const rest = __REST__;

const ask = globalThis.__skillet_call, encoder = new TextEncoder(), decoder = new TextDecoder("utf-8", { fatal: true });

const isJSON = (bytes) => {
	try {
		JSON.parse(decoder.decode(bytes));
		return true;
	} catch {
		return false;
	}
};

// asJSON is what a tool answered as a script sees it: JSON, or else a text.
const asJSON = (bytes) => (isJSON(bytes) ? bytes : encoder.encode(JSON.stringify(decoder.decode(bytes))));

const call = (name, meta, body) => {
	const asked = JSON.parse(meta);
	asked.skill = asked.skill.replaceAll("_", "-");
	const input = texts.includes(`${asked.skill}:${asked.tool ?? ""}`) ? JSON.parse(body) : undefined;
	const answer = ask(name, JSON.stringify(asked), typeof input === "string" ? input : body);
	return JSON.parse(answer.meta).error ? answer : { meta: answer.meta, body: asJSON(answer.body) };
};

export async function run(input) {
	const data = encoder.encode(JSON.stringify(member ? input[member] : input));
	globalThis.__skillet_call = (name, meta, body) => {
		if (meta === '{"data":true}') return { meta: "{}", body: data };
		return meta === '{"rest":true}' ? { meta: JSON.stringify({ rest }) } : call(name, meta, body);
	};
	const { value, error } = await execute({ code, given });
	if (error) throw Object.assign(new Error(error.message), { kind: error.kind ?? "failed" });
	return value;
}
