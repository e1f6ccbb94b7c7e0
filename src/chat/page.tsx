/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Layout } from '../pages/layout.tsx'
import { staticPath } from '../pages/static.ts'
import type { Rendering } from './answers/rendered-answer.ts'
import { BoundNote, BoundText } from './bound-text.tsx'
import script from './chat.client.js' with { type: 'text' }
import { AnswerMessage, ClosedListener, LISTENER_ID, MessageBox, UserMessage } from './message.tsx'
import type { ReachedBound } from './spending/spending.ts'
import { CHAT_STYLES_PATH } from './styles.ts'

/** The events that the page listens for. */
const TOPICS = ['Response', 'ResponseNoMass', 'Terminate'].join(',')

interface RefusedText {
  /** `null` if nothing is wrong with the text. */
  readonly reason: Child
  readonly typed: string
}

interface ChatPage {
  readonly conversation?: Child
  readonly listener?: Child
  readonly head?: Child
  readonly refusal?: RefusedText
}

export type ChatPages = ReturnType<typeof chatPages>

/** The chat's pages. If users log in, each page has a button to log out. */
export function chatPages({ hasLogin }: { readonly hasLogin: boolean }) {
  const page = (parts: ChatPage) => `<!doctype html>${<Page {...parts} hasLogin={hasLogin} />}`
  return {
    /** The page before the first prompt. */
    welcome: () => page({ conversation: <SampleMessages /> }),
    /**
     * The page of a prompt and its answer so far. Unless the answer has ended, the page listens for the rest; a browser
     * without scripts loads the page again after `retrySeconds`.
     */
    turn: (reqId: string, prompt: string, rendering: Rendering | null, retrySeconds = 0) => {
      const conversation = <Turn reqId={reqId} prompt={prompt} rendering={rendering} />
      if (rendering?.ending) return page({ conversation })
      const head = <WithoutScripts reqId={reqId} retrySeconds={retrySeconds} />
      return page({ conversation, listener: <Listener reqId={reqId} />, head })
    },
    /** The page of a prompt whose answer cannot begin before that bound ends. */
    boundedTurn: (reqId: string, prompt: string, bound: ReachedBound) =>
      page({
        conversation: <Turn reqId={reqId} prompt={prompt} rendering={null} />,
        listener: <BoundNote bound={bound} />,
      }),
    /** The form with the refused text, so that the user can correct it. */
    refusal: (reason: Child, typed: string) => page({ refusal: { reason, typed } }),
    /** The same because of a bound. */
    bounded: (bound: ReachedBound, typed: string) => page({ refusal: { reason: <BoundText bound={bound} />, typed } }),
    /** The form with a text that was not sent. */
    draft: (typed: string) => page({ refusal: { reason: null, typed } }),
    unknownTurn: () =>
      page({ conversation: <p class="notice">This chat is no longer available. You can start a new one.</p> }),
  }
}

function Page({ conversation, listener, head, refusal, hasLogin }: ChatPage & { readonly hasLogin: boolean }) {
  return (
    <Layout title="Chat" styles={[CHAT_STYLES_PATH]} scripts={[staticPath('chat.js', script)]} head={head}>
      <header class="top">
        <h1>Chat</h1>
        <a href="/">New chat</a>
        {hasLogin && (
          <form class="logout" action="/logout" method="post">
            <button type="submit">Log out</button>
          </form>
        )}
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
  )
}

function Turn({ reqId, prompt, rendering }: { reqId: string; prompt: string; rendering: Rendering | null }) {
  return (
    <div class="turn" data-path={pathOf(reqId)}>
      <UserMessage content={prompt} />
      <AnswerMessage rendering={rendering} />
    </div>
  )
}

function SampleMessages() {
  return (
    <>
      <MessageBox sender="ai">
        <div class="bubble">Hello! Write to me below, and my answer appears here as it arrives.</div>
      </MessageBox>
      <UserMessage content="Can you write more than plain text?" />
      <MessageBox sender="ai">
        <div class="bubble">
          Yes: lists, tables, and code with colours. I answer each message by itself, without looking back at earlier
          ones.
        </div>
      </MessageBox>
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
function Composer({ refusal }: { refusal: RefusedText | undefined }) {
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
      {refusal?.reason && (
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
          {...(refusal?.reason && { 'aria-invalid': 'true', 'aria-describedby': 'refusal' })}
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
