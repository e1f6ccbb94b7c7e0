/** Who may talk. */
interface Account {
  readonly username: string
  readonly passwordDigest: string
}

/** What a store of accounts must do. A write is on the disk when it resolves. */
export interface AccountRepository {
  /** Makes the account and the room that is named after it. False when the name is taken, and nothing was changed. */
  register(account: Account): Promise<boolean>
  /** `null` when there is no account of that name, spelled exactly so. */
  find(username: string): Promise<Account | null>
}
