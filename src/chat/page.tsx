/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'
import { staticPath } from '../pages/static.ts'
import type { Rendering } from './answers/rendered-answer.ts'
import script from './chat.client.js' with { type: 'text' }
import styles from './chat.css' with { type: 'text' }
import { AnswerMessage, ClosedListener, LISTENER_ID, Message, UserMessage } from './message.tsx'

/** The events that the page listens for. */
const TOPICS = ['Response', 'ResponseNoMass', 'Terminate'].join(',')

/** The page before the first prompt. */
export function welcomePage(): string {
  return chatPage({ conversation: <SampleMessages /> })
}

/**
 * The page of a prompt and its answer so far. Unless the answer has ended, the page listens for the rest; a browser without
 * scripts loads the page again after `retrySeconds`.
 */
export function turnPage(reqId: string, prompt: string, rendering: Rendering | null, retrySeconds = 0): string {
  const conversation = (
    <div class="turn" data-path={pathOf(reqId)}>
      <UserMessage content={prompt} />
      <AnswerMessage rendering={rendering} />
    </div>
  )
  if (rendering?.ending) return chatPage({ conversation })
  const head = <WithoutScripts reqId={reqId} retrySeconds={retrySeconds} />
  return chatPage({ conversation, listener: <Listener reqId={reqId} />, head })
}

/** The form with the refused text, so that the user can correct it. */
export function refusalPage(reason: string, typed: string): string {
  return chatPage({ refusal: { reason, typed } })
}

export function unknownTurnPage(): string {
  return chatPage({ conversation: <p class="notice">This chat is no longer available. You can start a new one.</p> })
}

interface Refusal {
  readonly reason: string
  readonly typed: string
}

interface ChatPage {
  readonly conversation?: Child
  readonly listener?: Child
  readonly head?: Child
  readonly refusal?: Refusal
}

function chatPage({ conversation, listener, head, refusal }: ChatPage): string {
  return `<!doctype html>${(
    <Layout
      title="Chat"
      styles={[staticPath('chat.css', styles)]}
      scripts={[staticPath('chat.js', script)]}
      head={head}
    >
      <header class="top">
        <h1>Chat</h1>
        <a href="/">New chat</a>
      </header>
      {/* htmx ignores everything in here, so text from users and models cannot trigger requests. */}
      <main id="conversation" hx-disable aria-label="Conversation">
        {conversation}
      </main>
      <footer class="dock">
        <div role="status" class="progress">
          {listener ?? <ClosedListener />}
          <p id="trouble"></p>
        </div>
        <Composer refusal={refusal} />
      </footer>
    </Layout>
  )}`
}

function SampleMessages() {
  return (
    <>
      <Message sender="ai">
        <div class="bubble">Hello! Write to me below, and my answer appears here as it arrives.</div>
      </Message>
      <UserMessage content="Can you write more than plain text?" />
      <Message sender="ai">
        <div class="bubble">
          Yes: lists, tables, and code with colours. I answer each message by itself, without looking back at earlier
          ones.
        </div>
      </Message>
    </>
  )
}

/** Connects to the stream. The last event replaces it, which closes the connection and removes the waiting text. */
function Listener({ reqId }: { reqId: string }) {
  return (
    <div
      id={LISTENER_ID}
      hx-ext="sse"
      sse-connect={`/chatstream/${encodeURIComponent(reqId)}`}
      sse-swap={TOPICS}
      hx-swap="none"
    >
      <span id="waiting">Waiting for the answer</span>
      <form class="stop" action={`${pathOf(reqId)}/stop`} method="post">
        <button type="submit">Stop</button>
      </form>
    </div>
  )
}

/** The form for the next prompt, with a fresh id. htmx adds the turn to the conversation; without it, the page changes. */
function Composer({ refusal }: { refusal: Refusal | undefined }) {
  const path = pathOf(crypto.randomUUID())
  return (
    <form
      id="composer"
      action={path}
      method="post"
      hx-post={path}
      hx-target="#conversation"
      hx-select=".turn"
      hx-swap="beforeend"
      hx-select-oob="#chat,#composer"
      hx-sync="this:drop"
    >
      {refusal && (
        <p id="refusal" role="alert">
          {refusal.reason}
        </p>
      )}
      <label for="user_prompt">Your message</label>
      <div class="field">
        <textarea
          id="user_prompt"
          name="user_prompt"
          rows={1}
          required
          autofocus
          enterkeyhint="send"
          placeholder="Write a message"
          {...(refusal && { 'aria-invalid': 'true', 'aria-describedby': 'refusal' })}
        >
          {/* Browsers drop the first line break in a text area. */}
          {refusal && `\n${refusal.typed}`}
        </textarea>
        <button type="submit">Send</button>
      </div>
      <p class="keys">Enter sends, Shift+Enter begins a new line.</p>
    </form>
  )
}

/** Without scripts a browser cannot listen, so it loads the page that waits for the answer. */
function WithoutScripts({ reqId, retrySeconds }: { reqId: string; retrySeconds: number }) {
  return (
    <noscript>
      <meta http-equiv="refresh" content={`${retrySeconds}; url=${pathOf(reqId)}/answer`} />
    </noscript>
  )
}

function pathOf(reqId: string): string {
  return `/chat/${encodeURIComponent(reqId)}`
}
