import type { Readable } from 'node:stream'
import { addListeners } from '../listeners.ts'
import { safeLine } from '../safe-text.ts'
import type { InputQuestion, TerminalInput } from './input.ts'

/** Limit on input read before it is asked for; then the writer has to wait. */
const READ_AHEAD_MAX_CHARACTERS = 1_048_576

/** Lines from a pipe or a file. A line longer than the limit above is cut, and its rest is dropped. */
export class Pipe implements TerminalInput {
  readonly #input: Readable
  readonly #output: NodeJS.WritableStream
  readonly #listening: Disposable
  #ahead = ''
  /** Whether the input continues with the rest of a line that was cut or discarded. */
  #isCut = false
  #hasEnded = false
  #waiting: ((line: string | null) => void) | null = null

  constructor(input: Readable, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
    input.setEncoding('utf8')
    const end = () => this.#end()
    this.#listening = addListeners(input, { data: text => this.#receive(text), end, error: end })
  }

  /** Writes the answer after the question, so that the output reads like a session at a terminal. */
  async ask({ text, isHidden = false }: InputQuestion): Promise<string | null> {
    this.#output.write(text)
    const line = await new Promise<string | null>(resolve => {
      this.#waiting = resolve
      this.#feed()
    })
    this.#output.write(isHidden || line === null ? '\n' : `${safeLine(line)}\n`)
    return line
  }

  /** A pipe has no keys. */
  onInterrupt(): void {}

  discardTypeAhead(): void {
    // The rest of a line that has arrived in part goes with it.
    if (this.#ahead !== '') this.#isCut = !this.#ahead.endsWith('\n')
    this.#ahead = ''
  }

  leave(): void {
    this.#ahead = ''
    this.#end()
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]()
    this.#input.destroy()
  }

  #receive(text: string): void {
    // The user has left, but the writer has not noticed yet.
    if (this.#hasEnded) return
    this.#ahead += this.#isCut ? this.#afterCutLine(text) : text
    this.#feed()
    if (this.#ahead.length >= READ_AHEAD_MAX_CHARACTERS) this.#input.pause()
  }

  #afterCutLine(text: string): string {
    const end = text.indexOf('\n')
    this.#isCut = end < 0
    return this.#isCut ? '' : text.slice(end + 1)
  }

  #end(): void {
    this.#hasEnded = true
    this.#feed()
  }

  #feed(): void {
    if (!this.#waiting) return
    const line = this.#takeLine()
    if (line === null && !this.#hasEnded) {
      this.#input.resume()
      return
    }
    this.#waiting(line)
    this.#waiting = null
  }

  /** The next line without its line break; `null` if none is complete. The last line needs no line break. */
  #takeLine(): string | null {
    const end = this.#ahead.indexOf('\n')
    const isWhole = end >= 0
    if (!isWhole && (this.#ahead === '' || (!this.#hasEnded && this.#ahead.length < READ_AHEAD_MAX_CHARACTERS)))
      return null
    this.#isCut = !isWhole
    const line = isWhole ? this.#ahead.slice(0, end) : this.#ahead
    this.#ahead = isWhole ? this.#ahead.slice(end + 1) : ''
    return line.replace(/\r$/, '')
  }
}
