import type { ReadStream, WriteStream } from 'node:tty'
import { wrapAnsi } from 'bun'
import { once } from '../../shared.ts'
import { type AnswerLayout, MarkdownLayout, PlainLayout } from './answer-layout.ts'
import type { InputQuestion, TerminalInput } from './input.ts'
import { Keyboard, NEXT_LINE } from './keyboard.ts'
import { Pipe } from './pipe.ts'
import { AnswerInPipe, AnswerOnScreen, type ShownAnswer, written } from './shown-answer.ts'
import { startSpinner } from './spinner.ts'
import { style } from './style.ts'

/** The assumed size of a terminal that does not report one, for example under `script` or in a container that starts. */
const COLUMNS_ASSUMED = 80
const ROWS_ASSUMED = 24

export interface TerminalStreams {
  readonly input: ReadStream
  readonly output: WriteStream
  readonly errors: WriteStream
}

/** The abilities of the terminal, if there is one. */
export interface TerminalAbilities {
  readonly showsColor: boolean
  readonly movesCursor: boolean
}

/** Until it is disposed of, Ctrl-C aborts the signal and does nothing else. */
export interface Interruptible extends Disposable {
  readonly signal: AbortSignal
}

/** The form of shown text: laid-out markdown, as written but wrapped at words, or unchanged. */
type Appearance = 'markdown' | 'wrapped' | 'raw'

/**
 * The user's terminal, or the pipes in its place. Answers go to standard output. Everything else also goes there if it is a
 * terminal, and otherwise to standard error, so that a pipe gets the answers only.
 */
export class Terminal implements Disposable {
  readonly #input: TerminalInput
  readonly #output: WriteStream
  readonly #dialog: WriteStream
  readonly #abilities: TerminalAbilities
  readonly #streamFailed = () => this.leave()
  readonly #resized = () => assumeSize(this.#dialog)
  readonly #highlighter = once(async () => (await import('./highlighter.ts')).openTerminalHighlighter())
  #interruptible: AbortController | null = null

  constructor({ input, output, errors }: TerminalStreams, abilities: TerminalAbilities) {
    this.#output = output
    this.#dialog = output.isTTY ? output : errors
    this.#abilities = abilities
    // Before the line editor starts, so that it uses the assumed size too.
    assumeSize(this.#dialog)
    this.#dialog.on('resize', this.#resized)
    this.#input = input.isTTY
      ? new Keyboard(input, this.#dialog, this.#dialog.isTTY && abilities.movesCursor)
      : new Pipe(input, this.#dialog)
    // The reader of a pipe may stop reading, and a terminal may be closed.
    for (const stream of [output, errors]) stream.on('error', this.#streamFailed)
  }

  /** Asks a question. Resolves to the answer, or to `null` if the user leaves. */
  ask(question: InputQuestion): Promise<string | null> {
    const text = this.#hasColor(this.#dialog) ? style.prompt(question.text) : question.text
    return this.#input.ask({ ...question, text })
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
    this.#write(text, style.faint)
  }

  /** Writes an error message. */
  error(text: string): void {
    this.#write(text, style.failure)
  }

  /** Shows an earlier question and its answer, up to `linesMax` lines. */
  echo(question: string, answer: string, linesMax: number): void {
    const text = this.#hasColor(this.#dialog) ? style.prompt(question) : question
    const lines = this.#wrapped(text + answer.replaceAll('\n', `\n${NEXT_LINE}`)).split('\n')
    this.say(beginningOf(lines, linesMax))
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
    const stopSpinner = this.#dialog.isTTY && this.#abilities.movesCursor ? startSpinner(this.#dialog) : () => {}
    let answer: ShownAnswer | null = null
    try {
      let [piece, layout] = await Promise.all([pieces.next(), this.#layout(this.#output)])
      stopSpinner()
      answer = layout ? new AnswerOnScreen(this.#output, layout) : new AnswerInPipe(this.#output)
      for (; !piece.done; piece = await pieces.next()) await answer.append(piece.value)
      return piece.value
    } finally {
      stopSpinner()
      await answer?.end()
    }
  }

  interruptible(): Interruptible {
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
    this.#dialog.off('resize', this.#resized)
  }

  #write(text: string, tone: (text: string) => string): void {
    const wrapped = this.#wrapped(text)
    this.say(this.#hasColor(this.#dialog) ? tone(wrapped) : wrapped)
  }

  /** Wrapped at words if it goes to a terminal. */
  #wrapped(text: string): string {
    return this.#dialog.isTTY ? wrapAnsi(text, this.#dialog.columns, { hard: true }) : text
  }

  #hasColor(stream: WriteStream): boolean {
    return stream.isTTY && this.#abilities.showsColor
  }

  #appearance(stream: WriteStream): Appearance {
    if (!stream.isTTY || !this.#abilities.movesCursor) return 'raw'
    return this.#abilities.showsColor ? 'markdown' : 'wrapped'
  }

  async #layout(stream: WriteStream): Promise<AnswerLayout | null> {
    const appearance = this.#appearance(stream)
    if (appearance === 'raw') return null
    // An answer keeps its initial width, because the lines already drawn cannot change.
    const width = stream.columns
    if (appearance === 'wrapped') return new PlainLayout(width)
    return new MarkdownLayout(width, await this.#highlighter())
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
