/** The secret that sessions are signed with. */
export const SECRET_BYTES = 32

/** A session ends this long after the log-in, however much it is used. */
export const SESSION_SECONDS = 43_200

/** Limit on wrong passwords of one address in a minute. */
export const ATTEMPTS_MAX = 10

/** Limit on the addresses whose attempts are counted. Beyond it, the ones that began earliest are forgotten. */
export const ATTEMPTING_ADDRESSES_MAX = 10_000

/** A shorter password could be guessed in spite of the limit above. */
export const PASSWORD_MIN_CHARACTERS = 8
