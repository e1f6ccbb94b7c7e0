/** The secret that sessions are signed with. */
export const SECRET_BYTES = 32

/** A session ends this long after the log-in, however much it is used. */
export const SESSION_SECONDS = 43_200

/** Limit on the session cookies of one request that are tried. */
export const SESSIONS_TRIED_MAX = 8

/** Limit on wrong passwords of one address in a minute. */
export const ATTEMPTS_MAX = 10

/** Limit on wrong passwords of all addresses in a minute: somebody may guess from many networks. */
export const TOTAL_ATTEMPTS_MAX = 30

/** A shorter password could be guessed in spite of the limits above. */
export const PASSWORD_MIN_CHARACTERS = 8
