/** How something is asked. */
export interface Question {
  readonly text: string
  /** What is typed is not shown. */
  readonly isHidden?: boolean
  /** The answer may have several lines, pasted or with Alt-Enter between them. */
  readonly isBlock?: boolean
  /** Earlier answers that arrow-up brings back, the newest first. */
  readonly recalled?: readonly string[]
}

/** Where the user's words come from: a keyboard, or a pipe. */
export interface Input extends Disposable {
  /** What is answered; `null` when whoever answers leaves. One question at a time. */
  ask(question: Question): Promise<string | null>
  /** Calls back when Ctrl-C is typed while nothing is asked. */
  onInterrupt(interrupted: (() => void) | null): void
  /** What was typed or read ahead of the questions is not answered with. */
  forgetAhead(): void
  /** As if whoever answers had left. */
  leave(): void
}
