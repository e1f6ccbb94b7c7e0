import { createInterface, type Interface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { safeText } from '../safe-text.ts'
import { BracketedPaste, PASTE_OFF, PASTE_ON, type Typed } from './bracketed-paste.ts'
import type { Input, Question } from './input.ts'

/** What is typed while nothing is asked; more is dropped. */
const TYPED_AHEAD_MAX_CHARACTERS = 65_536

/** What is pasted into one answer; more is dropped. It is far more than any answer may be long. */
const PASTED_MAX_CHARACTERS = 1_048_576

const INTERRUPT = '\x03'

/** Before each further line, as Node's editor shows a recalled answer of several lines. */
export const NEXT_LINE = '| '

/** A line break that is typed, with Alt (which sends ESC before the key) if it does not end the answer. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const TYPED_BREAK = /(\x1b)?(?:\r\n?|\n)/
const PASTED_BREAK = /\r\n?|\n/

/** A question that waits for its answer. */
interface Asked {
  readonly question: Question
  readonly editor: Interface
  /** The lines of a block that are ready. */
  readonly lines: string[]
  pastedCharacters: number
  readonly answer: (text: string | null) => void
}

/**
 * A keyboard at a terminal. Node's line editor edits; what reaches it is held back here while nothing is asked, so that
 * what is typed ahead is neither shown nor lost, and a password that is typed ahead stays unseen.
 */
export class Keyboard implements Input {
  readonly #input: ReadStream
  readonly #output: NodeJS.WritableStream
  readonly #marksPaste: boolean
  /** What the editor reads: `data` for keys, `keypress` for pasted text. */
  readonly #keys = new Readable({ read() {} })
  readonly #typed = (text: string) => this.#receive(text)
  readonly #ended = () => this.leave()
  readonly #restore = () => this.#setUp(false)
  readonly #continued = () => this.#resume()
  readonly #paste = new BracketedPaste()
  #ahead: Typed[] = []
  #isBreakingLine = false
  #asked: Asked | null = null
  #interrupted: (() => void) | null = null
  #hasLeft = false

  constructor(input: ReadStream, output: NodeJS.WritableStream, marksPaste: boolean) {
    this.#input = input
    this.#output = output
    this.#marksPaste = marksPaste
    this.#setUp(true)
    input.setEncoding('utf8')
    input.on('data', this.#typed)
    input.on('end', this.#ended)
    input.on('error', this.#ended)
    process.on('exit', this.#restore)
    process.on('SIGCONT', this.#continued)
  }

  ask(question: Question): Promise<string | null> {
    if (this.#hasLeft) return Promise.resolve(null)
    return new Promise(resolve => {
      this.#open(question, resolve)
      this.#feed()
    })
  }

  onInterrupt(interrupted: (() => void) | null): void {
    this.#interrupted = interrupted
    this.#feed()
  }

  forgetAhead(): void {
    this.#ahead = []
  }

  leave(): void {
    this.#hasLeft = true
    this.#answer(null)
  }

  [Symbol.dispose](): void {
    this.leave()
    this.#input.off('data', this.#typed)
    this.#input.off('end', this.#ended)
    this.#input.off('error', this.#ended)
    process.off('exit', this.#restore)
    process.off('SIGCONT', this.#continued)
    this.#setUp(false)
    this.#input.pause()
  }

  #setUp(isOn: boolean): void {
    // The terminal may be gone.
    if (!this.#input.destroyed) this.#input.setRawMode(isOn)
    if (this.#marksPaste) this.#output.write(isOn ? PASTE_ON : PASTE_OFF)
  }

  #open(question: Question, resolve: (text: string | null) => void): void {
    const editor = createInterface({
      input: this.#keys,
      output: question.isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : this.#output,
      terminal: true,
      prompt: question.text,
      history: [...(question.recalled ?? [])],
      removeHistoryDuplicates: true,
    })
    this.#asked = { question, editor, lines: [], pastedCharacters: 0, answer: resolve }
    editor.on('line', line => this.#endLine(line))
    editor.on('history', history => {
      // The lines of a block are recalled as one.
      if (this.#isBreakingLine) history.shift()
    })
    editor.on('SIGINT', () => this.leave())
    editor.on('SIGTSTP', () => this.#suspend())
    editor.on('close', () => {
      // By Ctrl-D, and not because the answer is there.
      if (this.#asked?.editor === editor) this.leave()
    })
    if (question.isHidden) this.#output.write(question.text)
    editor.prompt()
  }

  #endLine(line: string): void {
    const asked = this.#asked
    if (!asked) return
    // The editor keeps the line breaks of a recalled block as carriage returns.
    asked.lines.push(line.replaceAll('\r', '\n'))
    if (this.#isBreakingLine) {
      asked.editor.setPrompt(NEXT_LINE)
      asked.editor.prompt()
    } else {
      this.#answer(asked.lines.join('\n'))
    }
  }

  #answer(text: string | null): void {
    const asked = this.#asked
    if (!asked) return
    this.#asked = null
    asked.editor.close()
    if (text === null || asked.question.isHidden) this.#output.write('\n')
    asked.answer(text)
  }

  #receive(text: string): void {
    for (const typed of this.#paste.split(text)) {
      if (!this.#asked) this.#keepAhead(typed)
      else if (!typed.isPasted) this.#ahead.push(typed)
      else this.#keepPasted(this.#asked, typed.text)
    }
    this.#feed()
  }

  /** Ctrl-C takes the place of what was typed before it. */
  #keepAhead({ text, isPasted }: Typed): void {
    const interrupt = isPasted ? -1 : text.lastIndexOf(INTERRUPT)
    if (interrupt >= 0) this.#ahead = []
    const room = this.#ahead.reduce((left, part) => left - part.text.length, TYPED_AHEAD_MAX_CHARACTERS)
    if (room > 0) this.#ahead.push({ text: text.slice(Math.max(0, interrupt)).slice(0, room), isPasted })
  }

  #keepPasted(asked: Asked, text: string): void {
    const room = PASTED_MAX_CHARACTERS - asked.pastedCharacters
    if (room <= 0) return
    asked.pastedCharacters += text.length
    this.#ahead.push({ text: text.slice(0, room), isPasted: true })
  }

  /** Hands on what was typed, as long as something is asked. */
  #feed(): void {
    for (let next = this.#ahead[0]; this.#asked && next; next = this.#ahead[0]) this.#feedLine(this.#asked, next)
    if (!this.#asked && this.#interrupted && this.#ahead.some(isInterrupt)) {
      this.forgetAhead()
      this.#interrupted()
    }
  }

  /** Hands on up to the end of a line, or what there is of it. */
  #feedLine(asked: Asked, { text, isPasted }: Typed): void {
    const lineBreak = (isPasted ? PASTED_BREAK : TYPED_BREAK).exec(text)
    const line = lineBreak ? text.slice(0, lineBreak.index) : text
    const rest = text.slice(line.length + (lineBreak?.[0].length ?? 0))
    if (rest === '') this.#ahead.shift()
    else this.#ahead[0] = { text: rest, isPasted }
    if (isPasted) this.#insert(safeText(line))
    else if (line !== '') this.#keys.emit('data', line)
    if (lineBreak) this.#breakLine(asked, isPasted || lineBreak[1] !== undefined)
  }

  /** At once, since the editor takes longer for each key the longer the line is. */
  #insert(text: string): void {
    if (text !== '') this.#keys.emit('keypress', text, { sequence: text, ctrl: false, meta: false, shift: false })
  }

  /** Ends the line in the editor: to go on with the next one, where the answer may have several, or to be done. */
  #breakLine({ question }: Asked, goesOn: boolean): void {
    this.#isBreakingLine = goesOn && question.isBlock === true
    this.#keys.emit('data', '\r')
    this.#isBreakingLine = false
  }

  #suspend(): void {
    this.#setUp(false)
    // All processes of the job, as the terminal would: one that waits for this one, such as npm, must stop, too.
    process.kill(0, 'SIGTSTP')
  }

  #resume(): void {
    this.#setUp(true)
    this.#asked?.editor.prompt(true)
  }
}

function isInterrupt({ text, isPasted }: Typed): boolean {
  return !isPasted && text.includes(INTERRUPT)
}
