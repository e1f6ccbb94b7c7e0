/** @jsxImportSource hono/jsx */
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import type { Rendering } from './answers/rendered-answer.ts'
import type { Ending } from './answers/repository.ts'

/** The element that each `Response` replaces, so there is one of it in a page. */
const RESPONSE_ID = 'Response'

/** The element that listens, and that `Terminate` replaces by an empty one. */
export const LISTENER_ID = 'chat'

export type Sender = 'ai' | 'user'

const SENDER_NAMES: Record<Sender, string> = { ai: 'Assistant', user: 'You' }

/** What became of an answer that the model did not finish. */
const NOTES: Record<Exclude<Ending['state'], 'finished' | 'failed'>, string> = {
  stopped: 'The answer was stopped.',
  unheard: 'The answer was stopped here, because nobody was listening any longer.',
  interrupted: 'The answer was interrupted here, because the server that was writing it stopped.',
}

export function Message({ sender, children }: { sender: Sender; children?: Child }) {
  return (
    <article class={`message ${sender}`}>
      <h2 class="sender">{SENDER_NAMES[sender]}</h2>
      {children}
    </article>
  )
}

export function UserMessage({ content }: { content: string }) {
  return (
    <Message sender="user">
      <div class="bubble typed">{content}</div>
    </Message>
  )
}

/** An assistant's message: of an answer that has ended, or empty, to be filled by the stream. */
export function AnswerMessage({ rendering }: { rendering: Rendering | null }) {
  return (
    <Message sender="ai">
      {/* The answer is replaced again and again, so what is said of it stands on what stays. It is read out when it is
          whole: a screen reader that is told of every piece begins anew at each. */}
      <div class="bubble written" aria-live="polite" aria-busy={rendering?.ending ? 'false' : 'true'}>
        <Answer rendering={rendering} />
      </div>
    </Message>
  )
}

/** The answer as it is shown in the page, or with `isUpdate`, as the stream sends it to replace that. */
export function Answer({ rendering, isUpdate = false }: { rendering: Rendering | null; isUpdate?: boolean }) {
  return (
    <div id={RESPONSE_ID} {...(isUpdate && { 'hx-swap-oob': 'true' })}>
      {rendering && raw(rendering.html)}
      {rendering?.ending && <EndingNote ending={rendering.ending} />}
    </div>
  )
}

/** What takes the listener's place when nothing comes any more. */
export function ClosedListener({ isUpdate = false }: { isUpdate?: boolean }) {
  return <div id={LISTENER_ID} {...(isUpdate && { 'hx-swap-oob': 'true' })}></div>
}

function EndingNote({ ending }: { ending: Ending }) {
  if (ending.state === 'finished') return null
  if (ending.state === 'failed') return <p class="note failure">{ending.reason}</p>
  return <p class="note">{NOTES[ending.state]}</p>
}
