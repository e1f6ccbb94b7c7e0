interface Account {
  readonly username: string
  readonly passwordDigest: string
}

/** The storage of accounts. A write is on the disk when its promise resolves. */
export interface AccountRepository {
  /** Creates the account and its room. Resolves to false, and changes nothing, if the name is taken. */
  register(account: Account): Promise<boolean>
  /** Resolves to `null` if there is no account with exactly this name. */
  find(username: string): Promise<Account | null>
}
