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
  if (/\btables?\b/.test(asked))
    return [BEGINNING, 'You wrote "table", so here is one first.', TABLE, CODE, LIST, END].join('\n\n')
  if (/\bcode\b/.test(asked))
    return [BEGINNING, 'You wrote "code", so here is some first.', CODE, LIST, TABLE, END].join('\n\n')
  return [BEGINNING, LIST, CODE, TABLE, END].join('\n\n')
}

const BEGINNING = `# This is the demo model

I am **not a language model**: I understand nothing, my answer was written beforehand, and no provider is asked. I am here
so that the chat can be tried *without an account and without a network*.`

const LIST = `## What can be seen here

- The answer arrives **piece by piece**, and is shown as it arrives.
- Markdown becomes headings, lists, tables and \`inline code\`:
  1. a finished block is drawn once,
  2. the last one is drawn again with each piece.
- Raw HTML stays text: <b>this is not bold</b>.`

const CODE = `## How to plug in a real model

Name one when this program is started. The credential stays on its machine:

\`\`\`bash
# A model of OpenAI (anthropic: and google: work alike, see the table)
export CHAT_MODEL=openai:gpt-5-mini
export OPENAI_API_KEY=...       # or OPENAI_API_KEY_FILE=/run/secrets/openai
stockroom chat                  # the page, or: stockroom talk

# Any server with the OpenAI chat-completions protocol, also on this machine
export CHAT_MODEL=compatible:llama3.2
export CHAT_BASE_URL=http://localhost:11434/v1
stockroom chat
\`\`\``

const TABLE = `## What each provider needs

| \`CHAT_MODEL\` | Credential | Where it runs |
| --- | --- | --- |
| \`openai:MODEL\` | \`OPENAI_API_KEY\` | OpenAI |
| \`anthropic:MODEL\` | \`ANTHROPIC_API_KEY\` | Anthropic |
| \`google:MODEL\` | \`GOOGLE_GENERATIVE_AI_API_KEY\` | Google |
| \`compatible:MODEL\` | \`CHAT_API_KEY\`, where it needs one | at \`CHAT_BASE_URL\` |
| *unset* | none | here: this demo |`

const END = `Restart it like this, ask again, and a real model answers.`
