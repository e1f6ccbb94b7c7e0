/**
 * An error that the operator can fix, such as a port in use or a file that is not a database. The program prints it as one
 * line, without a stack trace, and exits with `exitStatus`.
 */
export class OperatorError extends Error {
  override name = 'OperatorError'
  readonly exitStatus: number = 1
}

/** The exit status after a wrong setting or command line. */
export const SETTING_EXIT_STATUS = 2

/** A wrong setting or command line. */
export class SettingError extends OperatorError {
  override name = 'SettingError'
  override readonly exitStatus = SETTING_EXIT_STATUS
}
