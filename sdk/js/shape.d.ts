/**
 * Reads a value of which only is known that it is JSON. What is not as it should be is a {@link SkilletError} of kind
 * `invalid` that names the place: `inner.depth: must be a whole number in range, not a string`.
 *
 * @typeParam T what the value is when it has been read
 */
export interface Shape<T> {
	/** Reads a value; `path` is where it is, for errors. */
	(value: unknown, path?: string): T;
}

/** The type of what a shape reads. */
export type Infer<S> = S extends Shape<infer T> ? T : never;

/** The type of an object whose members have these shapes. */
export type Members<M> = { [K in keyof M]: Infer<M[K]> };

/**
 * Makes shapes. `fallback` stands for a value that is missing or null; without one that is an error.
 *
 *     const Input = shape.object({ path: shape.string(), word: shape.string(""), limit: shape.integer(10) });
 *     type Input = Infer<typeof Input>;
 *
 *     export function count(input: unknown) {
 *         const { path, word, limit } = Input(input);
 *     }
 */
export declare const shape: {
	/** Text. */
	string(fallback?: string): Shape<string>;
	/** A whole number that a double holds exactly. */
	integer(fallback?: number): Shape<number>;
	/** Any number. */
	number(fallback?: number): Shape<number>;
	/** True or false. */
	boolean(fallback?: boolean): Shape<boolean>;
	/** Any JSON value; a missing one is null. */
	any(): Shape<unknown>;
	/** One of a few words or numbers. */
	oneOf<const T extends string | number>(words: readonly T[], fallback?: NoInfer<T>): Shape<T>;
	/** A value or null, which a missing one is. */
	nullable<T>(of: Shape<T>): Shape<T | null>;
	/** An array whose elements have a shape. */
	list<T>(of: Shape<T>, fallback?: readonly unknown[]): Shape<T[]>;
	/** An object with names of any kind, whose values have a shape. */
	map<T>(of: Shape<T>, fallback?: object): Shape<Record<string, T>>;
	/** An object with these members. It leaves out others. With the fallback `{}`, a missing one has its members' fallbacks. */
	object<M extends Record<string, Shape<any>>>(members: M, fallback?: object): Shape<Members<M>>;
};
