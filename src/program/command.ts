import type { CommandLine, Setting } from './config.ts'

/** A subcommand of `stockroom`. */
export interface Command {
  readonly name: string
  /** The positional arguments, as the usage line shows them, for example `FROM TO`; none by default. */
  readonly operands?: string
  readonly summary: string
  readonly settings: readonly Setting<unknown>[]
  /** Text that --help prints below the settings. */
  readonly note?: string
  /**
   * Runs the command to its end. Rejects with an `OperatorError` if the operator has to fix something. It imports the
   * command's code only now, so that no command loads the code of the others.
   */
  readonly run: (line: CommandLine) => Promise<void>
}
