import type { WriteStream } from 'node:tty'
import type { TerminalCapabilities } from '../../program/config.ts'
import { once } from '../../shared.ts'
import { addListeners } from '../listeners.ts'
import { type AnswerLayout, MarkdownLayout, PlainLayout } from './answer-layout.ts'
import type { InputQuestion, TerminalInput } from './input.ts'
import { Keyboard, NEXT_LINE } from './keyboard.ts'
import { Pipe } from './pipe.ts'
import { AnswerInPipe, AnswerOnScreen, written } from './shown-answer.ts'
import { startSpinner } from './spinner.ts'
import { style } from './style.ts'
import { wrapped } from './wrapping.ts'

/** The assumed size of a terminal that does not report one, for example under `script` or in a container that starts. */
const COLUMNS_ASSUMED = 80
const ROWS_ASSUMED = 24

/**
 * The user's terminal, or the pipes in its place. Answers go to standard output. Everything else also goes there if it is a
 * terminal, and otherwise to standard error, so that a pipe gets the answers only.
 */
export class Terminal implements Disposable {
  readonly #input: TerminalInput
  readonly #output: WriteStream
  readonly #dialog: WriteStream
  readonly #capabilities: TerminalCapabilities
  readonly #resizing: Disposable
  readonly #highlighting = once(async () => (await import('./highlighter.ts')).openCodeHighlighting())
  #interruptible: AbortController | null = null

  constructor({ stdin, stdout, stderr }: NodeJS.Process, capabilities: TerminalCapabilities) {
    this.#output = stdout
    this.#dialog = stdout.isTTY ? stdout : stderr
    this.#capabilities = capabilities
    // Before the line editor starts, so that it uses the assumed size too.
    assumeSize(this.#dialog)
    this.#resizing = addListeners(this.#dialog, { resize: () => assumeSize(this.#dialog) })
    this.#input = stdin.isTTY
      ? new Keyboard(stdin, this.#dialog, this.#isDrawnOn(this.#dialog))
      : new Pipe(stdin, this.#dialog)
    // The reader of a pipe may stop reading, and a terminal may be closed.
    for (const stream of [stdout, stderr]) stream.on('error', () => this.leave())
  }

  /** Asks a question. Resolves to the answer, or to `null` if the user leaves. */
  ask(question: InputQuestion): Promise<string | null> {
    return this.#input.ask({ ...question, text: this.#toned(question.text, style.prompt) })
  }

  /** Whether the input is a keyboard. */
  get hasKeyboard(): boolean {
    return this.#input instanceof Keyboard
  }

  /** Writes text that is not an answer. */
  say(text: string): void {
    this.#dialog.write(`${text}\n`)
  }

  /** Writes a note, in a faint style. */
  note(text: string): void {
    this.say(this.#toned(this.#wrapped(text), style.faint))
  }

  /** Writes an error message. */
  error(text: string): void {
    this.say(this.#toned(this.#wrapped(text), style.failure))
  }

  /** Shows an earlier question and its answer, up to `linesMax` lines. */
  echo(question: string, answer: string, linesMax: number): void {
    const text = this.#toned(question, style.prompt) + answer.replaceAll('\n', `\n${NEXT_LINE}`)
    this.say(beginningOf(this.#wrapped(text).split('\n'), linesMax))
  }

  /** Shows complete markdown, up to `linesMax` lines. */
  async show(markdown: string, linesMax: number): Promise<void> {
    this.say(beginningOf(await this.#lines(markdown, this.#dialog), linesMax))
  }

  /** Writes text to standard output, like an answer. */
  async print(text: string): Promise<void> {
    await written(this.#output, text)
  }

  /** The same with markdown, laid out if standard output is a terminal. */
  async printMarkdown(markdown: string): Promise<void> {
    await this.print(`${(await this.#lines(markdown, this.#output)).join('\n')}\n`)
  }

  /** Shows an answer as it arrives, with a spinner before its first piece. Resolves to the generator's return value. */
  async answer<End>(pieces: AsyncGenerator<string, End, undefined>): Promise<End> {
    let [piece, layout] = await this.#spinningUntil(Promise.all([pieces.next(), this.#layout(this.#output)]))
    const answer = layout
      ? new AnswerOnScreen(this.#output, layout)
      : new AnswerInPipe(this.#output, this.#interruptible?.signal)
    try {
      for (; !piece.done; piece = await pieces.next()) await answer.append(piece.value)
      return piece.value
    } finally {
      await answer.end()
    }
  }

  /** Until the result is disposed of, Ctrl-C aborts its signal and does nothing else. */
  interruptible(): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController()
    this.#interruptible = controller
    this.#input.onInterrupt(() => controller.abort())
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        this.#interruptible = null
        this.#input.onInterrupt(null)
      },
    }
  }

  /** Does what Ctrl-C does, for the signal that comes if the input is not a terminal. */
  interrupt(): void {
    if (this.#interruptible) {
      this.#input.discardTypeAhead()
      this.#interruptible.abort()
    } else {
      this.leave()
    }
  }

  /** Ends the answer that is under way, and every question from now on. */
  leave(): void {
    this.#interruptible?.abort()
    this.#input.leave()
  }

  [Symbol.dispose](): void {
    this.#input[Symbol.dispose]()
    this.#resizing[Symbol.dispose]()
  }

  async #spinningUntil<Result>(work: Promise<Result>): Promise<Result> {
    using _ = this.#isDrawnOn(this.#dialog) ? startSpinner(this.#dialog) : null
    return await work
  }

  #toned(text: string, tone: (text: string) => string): string {
    return this.#dialog.isTTY && this.#capabilities.showsColor ? tone(text) : text
  }

  /** Wrapped at words if it goes to a terminal. */
  #wrapped(text: string): string {
    return this.#dialog.isTTY ? wrapped(text, this.#dialog.columns).join('\n') : text
  }

  /** Whether the cursor can be moved, so that lines can be drawn again. */
  #isDrawnOn(stream: WriteStream): boolean {
    return stream.isTTY && this.#capabilities.movesCursor
  }

  /** Laid-out markdown, or without colors as written but wrapped at words; `null` for text that is not changed. */
  async #layout(stream: WriteStream): Promise<AnswerLayout | null> {
    if (!this.#isDrawnOn(stream)) return null
    // An answer keeps its initial width, because the lines already drawn cannot change.
    const width = stream.columns
    return this.#capabilities.showsColor
      ? new MarkdownLayout(width, await this.#highlighting())
      : new PlainLayout(width)
  }

  async #lines(markdown: string, stream: WriteStream): Promise<string[]> {
    const layout = await this.#layout(stream)
    if (!layout) return markdown.split('\n')
    layout.append(markdown)
    layout.end()
    return layout.takeFinal()
  }
}

/** Sets a common size on a stream that has none, for our layouts and for Node's line editor. */
function assumeSize(stream: WriteStream): void {
  if (!stream.isTTY) return
  stream.columns ||= COLUMNS_ASSUMED
  stream.rows ||= ROWS_ASSUMED
}

function beginningOf(lines: readonly string[], linesMax: number): string {
  if (lines.length <= linesMax) return lines.join('\n')
  return `${lines.slice(0, linesMax).join('\n').trimEnd()}\n…`
}
