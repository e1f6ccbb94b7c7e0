/** Stores the secret behind the signatures of sessions. */
export interface SecretRepository {
  /** The same for all processes, also after a restart. The first caller makes it. */
  secret(): Promise<Buffer>
}
