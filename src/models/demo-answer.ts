import text from './demo-answer.md' with { type: 'text' }

/** The file's sections, which are separated by thematic breaks. */
const [BEGINNING, LIST, CODE, TABLE, END] = text.trim().split('\n\n---\n\n')

/**
 * The demo model's answer: it introduces itself, shows a list and a table, and explains in code how to use a real model.
 * A question that mentions a table or code gets that first. The answer repeats no text of the question.
 */
export function demoAnswer(question: string): string {
  // The text may begin with earlier messages. The current question is the last paragraph.
  const asked =
    question
      .trim()
      .split(/\n\s*\n/)
      .at(-1)
      ?.toLowerCase() ?? ''
  return sectionsFor(asked).join('\n\n')
}

function sectionsFor(asked: string) {
  if (/\btables?\b/.test(asked)) return [BEGINNING, 'You wrote "table", so here is one first.', TABLE, CODE, LIST, END]
  if (/\bcode\b/.test(asked)) return [BEGINNING, 'You wrote "code", so here is some first.', CODE, LIST, TABLE, END]
  return [BEGINNING, LIST, CODE, TABLE, END]
}
