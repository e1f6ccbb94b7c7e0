import type { LanguageRegistration } from '@shikijs/primitive'

/** Expressions of the grammars, as JSON has them, that match in many ways or too often, each with a quick one. */
const REWRITTEN: readonly (readonly [slow: string | RegExp, quick: string])[] = [
  // C++, after each `*` and `&` of a type: between two of them, both of the first two places are there.
  [inJson(String.raw`|(?<=\W)|(?=\W)|^|\n?$|\A|\Z)`), inJson(String.raw`|(?>(?<=\W)|(?=\W)|^|\n?$|\A|\Z))`)],
  // C++, a quoted quote among template arguments: its second quote ends it or is part of it. C++ knows only the latter.
  [inJson(String.raw`'(?:[^']*|\\')'`), inJson(String.raw`'(?>\\'(?=')|[^']*)'`)],
  [inJson(String.raw`"(?:[^"]*|\\")"`), inJson(String.raw`"(?>\\"(?=")|[^"]*)"`)],
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
  // C#, the ranks and stars after a type, and a member's name: a blank between two of them matches as part of either.
  [
    inJson(String.raw`(?:\s*\[(?:\s*,\s*)*]\s*\??\s*)*`),
    inJson(String.raw`(?:(?:\s*+\[(?:(?:\s*+,)++\s*+)?+](?:\s*\?)?)+\s*)?`),
  ],
  [inJson(String.raw`(?:\s*\*\s*)*`), inJson(String.raw`(?:(?:\s*+\*)+\s*)?`)],
  [inJson(String.raw`\s+)(?<interface_name>`), inJson(String.raw`\s++)(?<interface_name>`)],
  // C#, a `_` in a number: as a digit and as a separator.
  [inJson(String.raw`(?:[01_]|((?<=\h)_(?=\h)))*`), inJson(String.raw`(?>[01_]|((?<=\h)_(?=\h)))*`)],
  // CSS, an escape in a name: some of its digits match as the next characters of the name.
  [/\(\?:(\\\\h\{1,6\}\|\.\)\)[*+])/g, '(?>$1'],
  // Go, channels: a blank or arrow between two of them matches as part of either.
  [inJson(String.raw`\bchan\b(?:\s*<-)?\s*)+`), inJson(String.raw`\bchan\b(?:\s*<-|(?!\s*<-\s*chan\b))\s*+)+`)],
  // Go, types between brackets, and all that is between braces: each part of a word matches as a word.
  [inJson(String.raw`(?:[*.\w]+(?:,\s+)?)+`), inJson(String.raw`(?:[*.\w]++(?:,\s+)?)+`)],
  [
    inJson(String.raw`(?:[*.\w]+{0,1}(?:\[[^]]+{0,1}])?(?:,\s+)?)+]`),
    inJson(String.raw`(?:[*.\w]++{0,1}(?:\[[^]]+{0,1}])?(?:,\s+)?)+]`),
  ],
  [/\(\?:\\\\s\*\(\?:\(\?:\\\\w\+,[^`]+(\[\^\\"\/`)\\\\s\]\+;\?\)\+\)/g, '$1]*$1\\\\s])'],
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
