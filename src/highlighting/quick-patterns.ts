import type { LanguageRegistration } from '@shikijs/primitive'

/** Expressions of the grammars, as JSON has them, that match in many ways or too often, each with a quick one. */
const REWRITTEN: readonly (readonly [slow: string | RegExp, quick: string])[] = [
  // C++, after each `*` and `&` of a type: between two of them, both of the first two places are there.
  [inJson(String.raw`|(?<=\W)|(?=\W)|^|\n?$|\A|\Z)`), inJson(String.raw`|(?>(?<=\W)|(?=\W)|^|\n?$|\A|\Z))`)],
  // C++, the captures of a lambda: if a bracket is not closed, each one before it looked for it twice.
  [inJson(String.raw`(?:[^]\[]*+\g<3>?)++`), inJson(String.raw`(?:[^]\[]++|\g<3>)*+`)],
  // C#, tuples and type arguments: a blank before a nested one matches as part of the outer or of the nested one.
  [/(\[\^[()<>]+\]\|\\\\g<\w+>\)[+*])/g, '$1+'],
  // Java, a variable's type and name: each blank, letter and bracket between them and the `=` matches as part of several places.
  [
    inJson(String.raw`\b\s*(<[],.<>?\[\w\s]*>)?\s*((\[])*)?\s+[$A-Z_a-z][$\w]*([]$,\[\w][],\[\w\s]*)?\s*([:;=]))`),
    inJson(
      String.raw`\b\s*+(<[],.<>?\[\w\s]*>)?\s*+(\[])*+\s*+(?<=\s)[$A-Z_a-z](?:[$\w]++[],\[\w\s]*+|(?:[],\[][],\[\w\s]*+)?+\s*+)[:;=])`,
    ),
  ],
  // HTML, a `<` that begins no tag, to mark it as wrong: after each of them, the rest of the line was searched for all tags.
  ['"match":"<","name":"invalid.illegal.bad-angle-bracket.html"', '"match":"(?!)"'],
]

/**
 * The same grammars with quick expressions. Otherwise a line of twenty characters, such as `void ***************`, would take half
 * a second, and a model can be asked for thousands of them.
 */
export function withQuickPatterns(registrations: readonly LanguageRegistration[]): LanguageRegistration[] {
  let json = JSON.stringify(registrations)
  for (const [slow, quick] of REWRITTEN) json = json.replaceAll(slow, quick)
  return JSON.parse(json)
}

function inJson(expression: string): string {
  return JSON.stringify(expression).slice(1, -1)
}
