import type { Readable } from 'node:stream'
import { safeLine } from '../safe-text.ts'
import type { Input, Question } from './input.ts'

/** What is read ahead of the questions; then whoever writes has to wait. */
const READ_AHEAD_MAX_CHARACTERS = 1_048_576

/** Lines from a pipe or a file. A line that is longer than what is read ahead is cut there. */
export class Pipe implements Input {
  readonly #input: Readable
  readonly #output: NodeJS.WritableStream
  readonly #read = (text: string) => this.#receive(text)
  readonly #ended = () => this.#end()
  #ahead = ''
  #hasEnded = false
  #waiting: ((line: string | null) => void) | null = null

  constructor(input: Readable, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
    input.setEncoding('utf8')
    input.on('data', this.#read)
    input.on('end', this.#ended)
    input.on('error', this.#ended)
  }

  /** The answer is written behind the question, so that both together read like a session at a terminal. */
  async ask({ text, isHidden = false }: Question): Promise<string | null> {
    this.#output.write(text)
    const line = await new Promise<string | null>(resolve => {
      this.#waiting = resolve
      this.#feed()
    })
    this.#output.write(isHidden || line === null ? '\n' : `${safeLine(line)}\n`)
    return line
  }

  /** No key is pressed in a pipe. */
  onInterrupt(): void {}

  forgetAhead(): void {
    this.#ahead = ''
  }

  leave(): void {
    this.#ahead = ''
    this.#end()
  }

  [Symbol.dispose](): void {
    this.#input.off('data', this.#read)
    this.#input.off('end', this.#ended)
    this.#input.off('error', this.#ended)
    this.#input.destroy()
  }

  #receive(text: string): void {
    this.#ahead += text
    this.#feed()
    if (this.#ahead.length >= READ_AHEAD_MAX_CHARACTERS) this.#input.pause()
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

  /** The next line without its end; the last one may have none. `null` when there is none yet, or no more. */
  #takeLine(): string | null {
    const end = this.#ahead.indexOf('\n')
    const isWhole = end >= 0
    if (!isWhole && (this.#ahead === '' || (!this.#hasEnded && this.#ahead.length < READ_AHEAD_MAX_CHARACTERS)))
      return null
    const line = isWhole ? this.#ahead.slice(0, end) : this.#ahead
    this.#ahead = isWhole ? this.#ahead.slice(end + 1) : ''
    return line.replace(/\r$/, '')
  }
}
