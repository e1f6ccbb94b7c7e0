import { createInterface, type Interface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import type { ReadStream } from 'node:tty'
import type { Input, Question } from './input.ts'

/** What is typed while nothing is asked; more is dropped. */
const TYPED_AHEAD_MAX_CHARACTERS = 65_536

const INTERRUPT = '\x03'
const NEXT_LINE = '… '

// Bracketed paste: the terminal marks what is pasted, so that a line break in it is not Enter.
const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'
const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'

/** A line break that is typed, with Alt (which sends ESC before the key) if it does not end the answer. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const TYPED_BREAK = /(\x1b)?(?:\r\n?|\n)/

/** A question that waits for its answer. */
interface Asked {
  readonly question: Question
  readonly editor: Interface
  /** The lines of a block that are ready. */
  readonly lines: string[]
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
  #ahead = ''
  #isPasting = false
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
    this.#ahead = ''
    this.#isPasting = false
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
    this.#asked = { question, editor, lines: [], answer: resolve }
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
    const room = TYPED_AHEAD_MAX_CHARACTERS - this.#ahead.length
    this.#ahead += this.#asked ? text : text.slice(0, Math.max(0, room))
    this.#feed()
  }

  /** Hands on what was typed, as long as something is asked. */
  #feed(): void {
    while (this.#asked && this.#ahead !== '') {
      if (!(this.#isPasting ? this.#feedPaste(this.#asked) : this.#feedKeys(this.#asked))) return
    }
    if (!this.#asked && this.#interrupted && this.#ahead.includes(INTERRUPT)) {
      this.forgetAhead()
      this.#interrupted()
    }
  }

  /** Up to the end of a line, or the beginning of a paste. False when more must come first. */
  #feedKeys(asked: Asked): boolean {
    const paste = this.#ahead.indexOf(PASTE_BEGIN)
    if (paste === 0) {
      this.#ahead = this.#ahead.slice(PASTE_BEGIN.length)
      this.#isPasting = true
      return true
    }
    const keys =
      paste < 0
        ? this.#ahead.slice(0, this.#ahead.length - cutMark(this.#ahead, PASTE_BEGIN))
        : this.#ahead.slice(0, paste)
    if (keys === '') return false
    const lineBreak = TYPED_BREAK.exec(keys)
    const line = lineBreak ? keys.slice(0, lineBreak.index) : keys
    this.#ahead = this.#ahead.slice(line.length + (lineBreak?.[0].length ?? 0))
    if (line !== '') this.#keys.emit('data', line)
    if (lineBreak) this.#breakLine(asked, lineBreak[1] !== undefined)
    return true
  }

  #feedPaste(asked: Asked): boolean {
    const end = this.#ahead.indexOf(PASTE_END)
    if (end === 0) {
      this.#ahead = this.#ahead.slice(PASTE_END.length)
      this.#isPasting = false
      return true
    }
    const pasted = this.#ahead.slice(0, end < 0 ? this.#ahead.length - cutMark(this.#ahead, PASTE_END) : end)
    if (pasted === '') return false
    const lineBreak = /\r\n?|\n/.exec(pasted)
    const line = lineBreak ? pasted.slice(0, lineBreak.index) : pasted
    this.#ahead = this.#ahead.slice(line.length + (lineBreak?.[0].length ?? 0))
    // At once, since the editor takes longer for each key the longer the line is.
    if (line !== '') this.#keys.emit('keypress', line, { sequence: line, ctrl: false, meta: false, shift: false })
    if (lineBreak) this.#breakLine(asked, true)
    return true
  }

  /** Ends the line in the editor: to go on with the next one, where the answer may have several, or to be done. */
  #breakLine({ question }: Asked, goesOn: boolean): void {
    this.#isBreakingLine = goesOn && question.isBlock === true
    this.#keys.emit('data', '\r')
    this.#isBreakingLine = false
  }

  #suspend(): void {
    this.#setUp(false)
    process.kill(process.pid, 'SIGTSTP')
  }

  #resume(): void {
    this.#setUp(true)
    this.#asked?.editor.prompt(true)
  }
}

/** How much of a mark, which the terminal sends in one, has come at the end of this text: more than a key's beginning. */
function cutMark(text: string, mark: string): number {
  for (let length = mark.length - 1; length > 2; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}
