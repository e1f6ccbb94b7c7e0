import { HttpError } from '../../server/errors.ts'

/** OWASP's parameters for argon2id: 19 MiB of memory, two passes. */
const PARAMETERS = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** Hashes that are made at once, each with its own memory; others wait in line. */
const HASHES_AT_ONCE = 4
const HASHES_WAITING_MAX = 512

/** Makes the argon2id hash, in PHC string format, that is stored in the place of a password. */
export type PasswordHasher = (password: string) => Promise<string>

/** A hasher with bounds on the memory it takes; rejects with an `HttpError` 503 when its line is full. */
export function passwordHasher(): PasswordHasher {
  let running = 0
  const line: (() => void)[] = []
  return async password => {
    if (running === HASHES_AT_ONCE) {
      if (line.length === HASHES_WAITING_MAX) {
        throw new HttpError(503, 'Too many passwords are waiting to be hashed', { 'Retry-After': '1' })
      }
      // Whoever is done hands its place over, so the count stays as it is.
      await new Promise<void>(resolve => line.push(resolve))
    } else {
      running += 1
    }
    try {
      // The runtime refuses to hash an empty text. U+0000, which no password can hold, stands for it.
      return await Bun.password.hash(password === '' ? '\0' : password, PARAMETERS)
    } finally {
      const next = line.shift()
      if (next) next()
      else running -= 1
    }
  }
}
