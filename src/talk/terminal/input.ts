/** A question to the user. */
export interface InputQuestion {
  readonly text: string
  /** Hides the answer while it is typed. */
  readonly isHidden?: boolean
  /** Allows several lines, pasted or separated with Alt-Enter. */
  readonly isMultiline?: boolean
  /** Earlier answers for arrow-up, the newest first. */
  readonly history?: readonly string[]
}

/** The source of the user's input: a keyboard or a pipe. */
export interface TerminalInput extends Disposable {
  /** Asks one question at a time. Resolves to the answer, or to `null` if the user leaves. */
  ask(question: InputQuestion): Promise<string | null>
  /** Sets the callback for a Ctrl-C that is typed while no question is open. */
  onInterrupt(callback: (() => void) | null): void
  /** Discards input that arrived before it was asked for. */
  discardTypeAhead(): void
  /** Ends the input, as if the user had left. */
  leave(): void
}
