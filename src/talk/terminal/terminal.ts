import type { ReadStream, WriteStream } from 'node:tty'
import { wrapAnsi } from 'bun'
import { type AnswerLayout, MarkdownLayout, PlainLayout } from './answer-layout.ts'
import { type Highlighter, openHighlighter } from './highlighter.ts'
import type { Input, Question } from './input.ts'
import { Keyboard, NEXT_LINE } from './keyboard.ts'
import { Pipe } from './pipe.ts'
import { AnswerInPipe, AnswerOnScreen, type ShownAnswer, written } from './shown-answer.ts'
import { startSpinner } from './spinner.ts'
import { style } from './style.ts'

/** The size of a terminal that does not tell its own, as under `script`, or in a container's first moment. */
const COLUMNS_ASSUMED = 80
const ROWS_ASSUMED = 24

export interface TerminalStreams {
  readonly input: ReadStream
  readonly output: WriteStream
  readonly errors: WriteStream
}

/** What a terminal is able to do, if there is one. */
export interface TerminalAbilities {
  readonly showsColor: boolean
  readonly movesCursor: boolean
}

/** While this is not disposed of, Ctrl-C gives the signal and does nothing else. */
export interface Interruptible extends Disposable {
  readonly signal: AbortSignal
}

/** How text appears: as laid out markdown, as it was written but wrapped between words, or as it is. */
type Appearance = 'markdown' | 'wrapped' | 'raw'

/**
 * Where the user sits, at a terminal or behind pipes. Answers go to the standard output. All else goes there too if it is
 * a terminal, and otherwise to the standard error, so that a pipe gets answers alone.
 */
export class Terminal implements Disposable {
  readonly #input: Input
  readonly #output: WriteStream
  readonly #talk: WriteStream
  readonly #abilities: TerminalAbilities
  readonly #streamFailed = () => this.leave()
  readonly #resized = () => assumeSize(this.#talk)
  #highlighter: Promise<Highlighter> | null = null
  #interruptible: AbortController | null = null

  constructor({ input, output, errors }: TerminalStreams, abilities: TerminalAbilities) {
    this.#output = output
    this.#talk = output.isTTY ? output : errors
    this.#abilities = abilities
    // Before the line editor, so that it sees the assumed size, too.
    assumeSize(this.#talk)
    this.#talk.on('resize', this.#resized)
    this.#input = input.isTTY
      ? new Keyboard(input, this.#talk, this.#talk.isTTY && abilities.movesCursor)
      : new Pipe(input, this.#talk)
    // The reader of a pipe may stop reading, and a terminal may be closed.
    for (const stream of [output, errors]) stream.on('error', this.#streamFailed)
  }

  /** What is answered, `null` when the user leaves. */
  ask(question: Question): Promise<string | null> {
    const text = this.#hasColor(this.#talk) ? style.prompt(question.text) : question.text
    return this.#input.ask({ ...question, text })
  }

  /** Whether there are keys to press. */
  get hasKeyboard(): boolean {
    return this.#input instanceof Keyboard
  }

  /** Tells something that is no answer, in lines. */
  say(text: string): void {
    this.#talk.write(`${text}\n`)
  }

  /** The same, as something beside the matter. */
  remark(text: string): void {
    this.#tell(text, style.faint)
  }

  /** Tells what went wrong. */
  complain(text: string): void {
    this.#tell(text, style.failure)
  }

  /** Shows what was answered to a question earlier, at most so many lines of it. */
  echo(question: string, answer: string, linesMax: number): void {
    const text = this.#hasColor(this.#talk) ? style.prompt(question) : question
    const lines = this.#wrapped(text + answer.replaceAll('\n', `\n${NEXT_LINE}`)).split('\n')
    this.say(beginningOf(lines, linesMax))
  }

  /** Shows markdown that is there as a whole, at most so many lines of it. */
  async show(markdown: string, linesMax: number): Promise<void> {
    this.say(beginningOf(await this.#lines(markdown, this.#talk), linesMax))
  }

  /** Puts text out as if it were an answer, for whoever reads the standard output. */
  async print(text: string): Promise<void> {
    await written(this.#output, text)
  }

  /** The same with markdown, laid out where that is a terminal. */
  async printMarkdown(markdown: string): Promise<void> {
    await this.print(`${(await this.#lines(markdown, this.#output)).join('\n')}\n`)
  }

  /** Shows an answer as it comes, with something that turns until its first word. Resolves to what it returns. */
  async answer<End>(pieces: AsyncGenerator<string, End, undefined>): Promise<End> {
    const stopSpinner = this.#talk.isTTY && this.#abilities.movesCursor ? startSpinner(this.#talk) : () => {}
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

  /** As Ctrl-C, which comes as a signal where the input is no terminal. */
  interrupt(): void {
    if (this.#interruptible) {
      this.#input.forgetAhead()
      this.#interruptible.abort()
    } else {
      this.leave()
    }
  }

  /** Ends what is under way, and lets every question be answered by leaving. */
  leave(): void {
    this.#interruptible?.abort()
    this.#input.leave()
  }

  [Symbol.dispose](): void {
    this.#input[Symbol.dispose]()
    this.#talk.off('resize', this.#resized)
  }

  #tell(text: string, tone: (text: string) => string): void {
    const wrapped = this.#wrapped(text)
    this.say(this.#hasColor(this.#talk) ? tone(wrapped) : wrapped)
  }

  /** Between words, where it goes to a terminal. */
  #wrapped(text: string): string {
    return this.#talk.isTTY ? wrapAnsi(text, this.#talk.columns, { hard: true }) : text
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
    // An answer keeps the width that it began with: what is drawn already cannot follow.
    const width = stream.columns
    if (appearance === 'wrapped') return new PlainLayout(width)
    this.#highlighter ??= openHighlighter()
    return new MarkdownLayout(width, await this.#highlighter)
  }

  async #lines(markdown: string, stream: WriteStream): Promise<string[]> {
    const layout = await this.#layout(stream)
    if (!layout) return markdown.split('\n')
    layout.append(markdown)
    layout.end()
    return layout.takeFinal()
  }
}

/** Whoever reads the stream's size then gets a usual one for what is not known: the layouts and Node's line editor. */
function assumeSize(stream: WriteStream): void {
  if (!stream.isTTY) return
  stream.columns ||= COLUMNS_ASSUMED
  stream.rows ||= ROWS_ASSUMED
}

function beginningOf(lines: readonly string[], linesMax: number): string {
  if (lines.length <= linesMax) return lines.join('\n')
  return `${lines.slice(0, linesMax).join('\n').trimEnd()}\n…`
}
