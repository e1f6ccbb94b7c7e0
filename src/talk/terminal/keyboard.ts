import { createInterface, type Interface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import { addListeners } from '../listeners.ts'
import { safeText } from '../safe-text.ts'
import { BracketedPaste, PASTE_OFF, PASTE_ON, type Typed } from './bracketed-paste.ts'
import type { InputQuestion, TerminalInput } from './input.ts'

/** Limit on keys typed while no question is open; more are dropped. */
const TYPED_AHEAD_MAX_CHARACTERS = 65_536

/** Limit on text pasted into one answer; more is dropped. Much more than any answer may have. */
const PASTED_MAX_CHARACTERS = 1_048_576

const INTERRUPT = '\x03'

/** Prompt of each further line, as in Node's editor. */
export const NEXT_LINE = '| '

/**
 * A typed line break. With Alt, which sends ESC before the key, it does not end the answer. The editor also takes U+2028 and
 * U+2029 for Enter, and drops the text after them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match it
const TYPED_BREAK = /(\x1b)?(?:\r\n?|[\n\u2028\u2029])/
const PASTED_BREAK = /\r\n?|[\n\u2028\u2029]/

/** A question that waits for its answer. */
interface OpenQuestion {
  readonly question: InputQuestion
  readonly editor: Interface
  /** The complete lines of the answer. */
  readonly lines: string[]
  pastedCharacters: number
  readonly answer: (text: string | null) => void
}

/**
 * A keyboard at a terminal. Node's line editor does the editing, and gets its input from here. Keys typed while no question
 * is open are held back, so that they are not lost and a password among them is not shown.
 */
export class Keyboard implements TerminalInput {
  readonly #input: ReadStream
  readonly #output: NodeJS.WritableStream
  readonly #bracketsPaste: boolean
  /** The editor's input: `data` events for keys, `keypress` events for pasted text. */
  readonly #keys = new Readable({ read() {} })
  readonly #listening = new DisposableStack()
  readonly #paste = new BracketedPaste()
  #ahead: Typed[] = []
  #isBreakingLine = false
  #question: OpenQuestion | null = null
  #onInterrupt: (() => void) | null = null
  #hasLeft = false

  constructor(input: ReadStream, output: NodeJS.WritableStream, bracketsPaste: boolean) {
    this.#input = input
    this.#output = output
    this.#bracketsPaste = bracketsPaste
    this.#setUp(true)
    input.setEncoding('utf8')
    const end = () => this.leave()
    this.#listening.use(addListeners(input, { data: text => this.#receive(text), end, error: end }))
    // Before the editor, which draws its line again.
    this.#listening.use(addListeners(output, { resize: () => this.#resize() }))
    this.#listening.use(addListeners(process, { exit: () => this.#setUp(false), SIGCONT: () => this.#resume() }))
  }

  ask(question: InputQuestion): Promise<string | null> {
    if (this.#hasLeft) return Promise.resolve(null)
    return new Promise(resolve => {
      this.#open(question, resolve)
      this.#feed()
    })
  }

  onInterrupt(callback: (() => void) | null): void {
    this.#onInterrupt = callback
    this.#feed()
  }

  discardTypeAhead(): void {
    this.#ahead = []
  }

  leave(): void {
    this.#hasLeft = true
    this.#answer(null)
  }

  [Symbol.dispose](): void {
    this.leave()
    this.#listening.dispose()
    this.#setUp(false)
    this.#input.pause()
  }

  #setUp(isOn: boolean): void {
    // The terminal may have been closed.
    if (!this.#input.destroyed) this.#input.setRawMode(isOn)
    if (this.#bracketsPaste) this.#output.write(isOn ? PASTE_ON : PASTE_OFF)
  }

  #open(question: InputQuestion, resolve: (text: string | null) => void): void {
    const editor = createInterface({
      input: this.#keys,
      output: question.isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : this.#output,
      terminal: true,
      prompt: question.text,
      history: [...(question.history ?? [])],
      removeHistoryDuplicates: true,
    })
    this.#question = { question, editor, lines: [], pastedCharacters: 0, answer: resolve }
    editor.on('line', line => this.#endLine(line))
    editor.on('history', history => {
      // The history has the whole answer, not its single lines.
      if (this.#isBreakingLine) history.shift()
    })
    editor.on('SIGINT', () => this.leave())
    editor.on('SIGTSTP', () => this.#suspend())
    editor.on('close', () => {
      // The user pressed Ctrl-D: the answer is not complete.
      if (this.#question?.editor === editor) this.leave()
    })
    if (question.isHidden) this.#output.write(question.text)
    editor.prompt()
  }

  #endLine(line: string): void {
    const open = this.#question
    if (!open) return
    // In an answer from the history, the editor writes line breaks as carriage returns.
    open.lines.push(line.replaceAll('\r', '\n'))
    if (this.#isBreakingLine) {
      open.editor.setPrompt(NEXT_LINE)
      open.editor.prompt()
    } else {
      this.#answer(open.lines.join('\n'))
    }
  }

  #answer(text: string | null): void {
    const open = this.#question
    if (!open) return
    this.#question = null
    open.editor.close()
    if (text === null || open.question.isHidden) this.#output.write('\n')
    open.answer(text)
  }

  #receive(text: string): void {
    for (const typed of this.#paste.split(text)) {
      if (!this.#question) this.#addTypeAhead(typed)
      else if (!typed.isPasted) this.#ahead.push(typed)
      else this.#addPasted(this.#question, typed.text)
    }
    this.#feed()
  }

  /** Ctrl-C discards the keys typed before it. */
  #addTypeAhead({ text, isPasted }: Typed): void {
    const interrupt = isPasted ? -1 : text.lastIndexOf(INTERRUPT)
    if (interrupt >= 0) this.#ahead = []
    const room = this.#ahead.reduce((left, part) => left - part.text.length, TYPED_AHEAD_MAX_CHARACTERS)
    if (room > 0) this.#ahead.push({ text: text.slice(Math.max(0, interrupt)).slice(0, room), isPasted })
  }

  #addPasted(question: OpenQuestion, text: string): void {
    const room = PASTED_MAX_CHARACTERS - question.pastedCharacters
    if (room <= 0) return
    question.pastedCharacters += text.length
    this.#ahead.push({ text: text.slice(0, room), isPasted: true })
  }

  /** Passes input to the editor while a question is open. */
  #feed(): void {
    for (let next = this.#ahead[0]; this.#question && next; next = this.#ahead[0]) this.#feedLine(this.#question, next)
    if (!this.#question && this.#onInterrupt && this.#ahead.some(isInterrupt)) {
      this.discardTypeAhead()
      this.#onInterrupt()
    }
  }

  /** Passes on one line, or as much of it as there is. */
  #feedLine(question: OpenQuestion, { text, isPasted }: Typed): void {
    const lineBreak = (isPasted ? PASTED_BREAK : TYPED_BREAK).exec(text)
    const line = lineBreak ? text.slice(0, lineBreak.index) : text
    const rest = text.slice(line.length + (lineBreak?.[0].length ?? 0))
    if (rest === '') this.#ahead.shift()
    else this.#ahead[0] = { text: rest, isPasted }
    if (isPasted) this.#insert(safeText(line))
    else if (line !== '') this.#keys.emit('data', line)
    if (lineBreak) this.#breakLine(question, isPasted || lineBreak[1] !== undefined)
  }

  /** Inserts the text at once, because each key takes the editor longer the longer the line is. */
  #insert(text: string): void {
    if (text !== '') this.#keys.emit('keypress', text, { sequence: text, ctrl: false, meta: false, shift: false })
  }

  /** Ends the line in the editor, and the answer unless it continues on another line. */
  #breakLine({ question }: OpenQuestion, continues: boolean): void {
    this.#isBreakingLine = continues && question.isMultiline === true
    this.#keys.emit('data', '\r')
    this.#isBreakingLine = false
  }

  #suspend(): void {
    this.#setUp(false)
    // Stop all processes of the job, as the terminal would, including one that waits for this one, such as npm.
    process.kill(0, 'SIGTSTP')
  }

  /** Tells the editor in which row the cursor is now: it would go up as many rows as before, over what is above its line. */
  #resize(): void {
    const editor = this.#question?.editor
    if (editor) Object.assign(editor, { prevRows: editor.getCursorPos().rows })
  }

  #resume(): void {
    this.#setUp(true)
    this.#question?.editor.prompt(true)
  }
}

function isInterrupt({ text, isPasted }: Typed): boolean {
  return !isPasted && text.includes(INTERRUPT)
}
