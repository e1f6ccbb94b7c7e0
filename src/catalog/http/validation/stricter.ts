/**
 * The member of a schema's description with rules that the specified interface description does not state. `/openapi.json`
 * leaves it out, and `/openapi.strict.json` has its rules among the others.
 */
export const STRICTER = 'x-stricter'

/** Metadata for a schema with rules that only `/openapi.strict.json` states, in the words of JSON Schema. */
export function stricter(rules: Readonly<Record<string, unknown>>) {
  return { [STRICTER]: rules } as const
}
