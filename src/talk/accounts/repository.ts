/** The storage of accounts. A write is on the disk when its promise resolves. */
export interface AccountRepository {
  /** Creates the account and its room. Resolves to false, and changes nothing, if the name is taken. */
  register(username: string, passwordDigest: string): Promise<boolean>
  /** Resolves to `null` if there is no account with exactly this name. */
  passwordDigest(username: string): Promise<string | null>
}
