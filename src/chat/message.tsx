/** @jsxImportSource hono/jsx */
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import type { Rendering } from './answers/rendered-answer.ts'
import type { Ending } from './answers/repository.ts'

/** The id of the element that each `Response` replaces. A page has one of them. */
const RESPONSE_ID = 'Response'

/** The id of the element that listens to the stream. `Terminate` replaces it with an empty one. */
export const LISTENER_ID = 'chat'

export type Sender = 'ai' | 'user'

const SENDER_NAMES: Record<Sender, string> = { ai: 'Assistant', user: 'You' }

/** Notes below answers that the model did not finish. */
const NOTES: Record<Exclude<Ending['state'], 'finished' | 'failed'>, string> = {
  stopped: 'The answer was stopped.',
  unheard: 'The answer was stopped here, because nobody was listening any longer.',
  interrupted: 'The answer was interrupted here, because the server that was writing it stopped.',
}

export function MessageBox({ sender, children }: { sender: Sender; children?: Child }) {
  return (
    <article class={`message ${sender}`}>
      <h2 class="sender">{SENDER_NAMES[sender]}</h2>
      {children}
    </article>
  )
}

export function UserMessage({ content }: { content: string }) {
  return (
    <MessageBox sender="user">
      <div class="bubble typed">{content}</div>
    </MessageBox>
  )
}

/** The assistant's message: an answer that has ended, or empty until the stream fills it. */
export function AnswerMessage({ rendering }: { rendering: Rendering | null }) {
  return (
    <MessageBox sender="ai">
      {/* The attributes are on the bubble because the answer inside is replaced again and again. Screen readers read the
          answer once it is complete; otherwise they would start again with each piece. */}
      <div class="bubble written" dir="auto" aria-live="polite" aria-busy={rendering?.ending ? 'false' : 'true'}>
        <Answer rendering={rendering} />
      </div>
    </MessageBox>
  )
}

/** The answer in the page; with `swap`, as the stream sends it to replace the one in the page. */
export function Answer({ rendering, swap = false }: { rendering: Rendering | null; swap?: boolean }) {
  return (
    <div id={RESPONSE_ID} {...(swap && { 'hx-swap-oob': 'true' })}>
      {rendering && raw(rendering.html)}
      {rendering?.ending && <EndingNote ending={rendering.ending} />}
    </div>
  )
}

/** Replaces the listener when the answer has ended. */
export function ClosedListener({ swap = false }: { swap?: boolean }) {
  return <div id={LISTENER_ID} {...(swap && { 'hx-swap-oob': 'true' })}></div>
}

function EndingNote({ ending }: { ending: Ending }) {
  if (ending.state === 'finished') return null
  if (ending.state === 'failed') return <p class="note failure">{ending.reason}</p>
  return <p class="note">{NOTES[ending.state]}</p>
}
