/**
 * Something that whoever runs the program can put right: a port in use, a file that is no database.
 * It is shown as one line, without a stack, and ends the program with `exitStatus`.
 */
export class OperatorError extends Error {
  override name = 'OperatorError'
  readonly exitStatus: number = 1
}

/** A wrong setting or command line. */
export class SettingError extends OperatorError {
  override name = 'SettingError'
  override readonly exitStatus = 2
}
