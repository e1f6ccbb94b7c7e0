import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { z } from 'zod'
import { arrivals } from '../arrivals.ts'
import { startScriptedServer } from './scripted-server.ts'

/** A language model's protocol on the wire. Each has its own file beside this one. */
export interface Protocol {
  /** The client settings that reach a server with this protocol. */
  readonly environment: (address: string) => Record<string, string>
  /** The request path; any other is 404. */
  readonly path: string
  /** Throws if the request is malformed. */
  readonly read: (request: ModelRequest) => Asked
  /** The frames of one answer, in call order. */
  readonly answer: (asked: Asked) => AnswerFrames
  /** The body of an error response. */
  readonly refusal: (status: number, reason: RefusalReason) => unknown
}

/** Why an answer ended, as the provider reports it. */
export type Ending = 'whole' | 'too long' | 'withheld'

interface RefusalReason {
  readonly message: string
  /** The provider's own name for the error, if it has one. */
  readonly code: string | null
}

interface ModelRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

/** The question, however the protocol spells it. */
interface Asked {
  readonly model: string
  readonly system: string
  readonly prompt: string
  readonly credential: string | null
  /** Whether the caller wants to know what the answer has used. Most protocols always tell. */
  readonly wantsUsage: boolean
}

/** The tokens of an answer. */
interface TokenCounts {
  readonly input: number
  readonly output: number
}

/** Unless the test says otherwise. */
const TOKENS: TokenCounts = { input: 1, output: 1 }

interface AnswerFrames {
  /** Before the first piece. */
  readonly begin: () => string
  readonly piece: (text: string) => string
  /** A piece of the model's thoughts, before the answer. */
  readonly thought: (text: string) => string
  readonly end: (ending: Ending, tokens: TokenCounts) => string
  /** An error during the answer, as an overloaded provider sends it. */
  readonly failure: (message: string) => string
}

/** One call to the server. The test decides what happens, step by step. */
export interface ModelCall extends Asked, ModelRequest {
  /** Sends a piece of the answer. */
  readonly send: (text: string) => Promise<void>
  /** Sends pieces that arrive together. */
  readonly sendAtOnce: (pieces: readonly string[]) => Promise<void>
  readonly think: (text: string) => Promise<void>
  /** Ends the answer as the protocol ends one. */
  readonly finish: (ending?: Ending, tokens?: TokenCounts) => Promise<void>
  /** Sends a whole answer. */
  readonly answer: (...pieces: string[]) => Promise<void>
  /** Refuses the call, with the protocol's own error body. */
  readonly refuse: (status: number, refusal?: Refusal) => Promise<void>
  /** Answers with a body of any kind. */
  readonly reply: (status: number, headers: Record<string, string>, body: string) => Promise<void>
  /** Begins a response with this status, whose body `sendRaw` sends. */
  readonly begin: (status: number) => void
  /** Sends this text unchanged, inside the answer. */
  readonly sendRaw: (text: string) => Promise<void>
  /** Sends the protocol's error during the answer. */
  readonly fail: (message?: string) => Promise<void>
  /** Ends the response cleanly, but without the end of the answer. */
  readonly breakOff: () => Promise<void>
  /** Cuts the connection. */
  readonly cut: () => void
  /** Resolves when the client's connection is closed, by either side. */
  readonly closed: Promise<void>
}

interface Refusal extends Partial<RefusalReason> {
  readonly headers?: Record<string, string>
}

export interface ModelServer extends AsyncDisposable {
  readonly address: string
  /** The settings of a client of this server, with a credential. */
  readonly environment: Record<string, string>
  /** All calls so far. */
  readonly calls: readonly ModelCall[]
  /** Waits for the first call that was not returned yet. */
  readonly nextCall: () => Promise<ModelCall>
}

/** Serves a protocol on a free loopback port. */
export async function startModelServer(protocol: Protocol): Promise<ModelServer> {
  const calls = arrivals<ModelCall>()
  const server = await startScriptedServer(({ method, path, headers, body }) => response => {
    if (method !== 'POST' || path !== protocol.path) {
      response.writeHead(404).end()
      return
    }
    calls.add(modelCall(protocol, { path, headers: textsOf(headers), body: JSON.parse(body) }, response))
  })
  const { address } = server
  return {
    address,
    environment: protocol.environment(address),
    calls: calls.all,
    nextCall: calls.next,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** An event of a stream, with its name if the protocol has one. */
export function event(data: object, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** Text as the protocols write it: plain, or in parts. */
export const texts = z.union([z.string(), z.array(z.object({ text: z.string() }))])

export function textOf(content: z.infer<typeof texts> = ''): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

function modelCall(protocol: Protocol, request: ModelRequest, response: ServerResponse): ModelCall {
  const asked = protocol.read(request)
  const frames = protocol.answer(asked)
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  const write = (text: string) => new Promise<void>(resolve => response.write(text, () => resolve()))
  const end = (text: string) => new Promise<void>(resolve => response.end(text, () => resolve()))
  const begin = () => {
    if (response.headersSent) return ''
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    return frames.begin()
  }
  const reply = (status: number, headers: Record<string, string>, body: string) => {
    response.writeHead(status, headers)
    return end(body)
  }
  return {
    ...request,
    ...asked,
    send: text => write(begin() + frames.piece(text)),
    sendAtOnce: pieces => write(begin() + pieces.map(frames.piece).join('')),
    think: text => write(begin() + frames.thought(text)),
    finish: (ending = 'whole', tokens = TOKENS) => end(begin() + frames.end(ending, tokens)),
    answer: async (...pieces) => {
      for (const piece of pieces) await write(begin() + frames.piece(piece))
      await end(begin() + frames.end('whole', TOKENS))
    },
    refuse: (status, { headers = {}, message = 'refused', code = null } = {}) => {
      const body = JSON.stringify(protocol.refusal(status, { message, code }))
      return reply(status, { 'Content-Type': 'application/json', ...headers }, body)
    },
    reply,
    begin: status => {
      response.writeHead(status, { 'Content-Type': 'application/json' })
    },
    sendRaw: text => write(begin() + text),
    fail: (message = 'overloaded') => end(begin() + frames.failure(message)),
    breakOff: () => end(begin()),
    cut: () => {
      response.destroy()
    },
    closed,
  }
}

function textsOf(headers: IncomingHttpHeaders): ModelRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
