import type { Setting } from './config.ts'

/** One word after `stockroom`. */
export interface Command {
  readonly name: string
  /** What stands after the name and the options in the usage line, for example `FILE`. */
  readonly operands: string
  /** What it does, in one line. */
  readonly summary: string
  readonly settings: readonly Setting<unknown>[]
  /** What --help says beside the settings. */
  readonly note?: string
  /** Ends when the command is done; throws an `OperatorError` that the operator can act on. */
  readonly run: (argv: readonly string[]) => Promise<void>
}
