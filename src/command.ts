import type { CommandLine, Setting } from './config.ts'

/** One word after `stockroom`. */
export interface Command {
  readonly name: string
  /** Shown after the name and the options in the usage line, for example `FILE`. */
  readonly operands: string
  /** One line that says what the command does. */
  readonly summary: string
  readonly settings: readonly Setting<unknown>[]
  /** Shown by --help below the settings. */
  readonly note?: string
  /**
   * Runs the command; resolves when it is done. Rejects with an `OperatorError` that the operator can act on.
   * It imports the command's code itself, so that `stockroom serve` does not load what only other commands need.
   */
  readonly run: (line: CommandLine) => Promise<void>
}
