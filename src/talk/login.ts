import { createHash, timingSafeEqual } from 'node:crypto'
import { countCodePoints } from '../limits/code-points.ts'
import { failureMessage } from './failure-message.ts'
import { MODEL_SENDER, type RoomRepository } from './rooms/repository.ts'
import { safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'

/** In Unicode code points. */
const USERNAME_MAX_CHARACTERS = 50

/** Compared with the password of an unknown user, so that a login takes equally long whether or not the user exists. */
const UNKNOWN_USER_DIGEST = passwordDigest('')

/** Asks until the user has logged in or registered. Resolves to the user's name, or to `null` if the user leaves. */
export async function logInOrRegister(terminal: Terminal, rooms: RoomRepository): Promise<string | null> {
  for (;;) {
    const choice = await terminal.ask({ text: '[L]og in or [R]egister? ' })
    if (choice === null) return null
    const action = ACTIONS[choice.trim().toUpperCase()]
    if (!action) {
      terminal.note('L logs in, R registers; Ctrl-C leaves.')
      continue
    }
    const username = await terminal.ask({ text: 'Username: ' })
    if (username === null) return null
    const password = await terminal.ask({ text: 'Password: ', isHidden: true })
    if (password === null) return null
    const name = username.trim().normalize()
    const refusal = await action(rooms, name, password).catch(failureMessage)
    if (refusal === null) return name
    terminal.error(refusal)
  }
}

/** Resolves to `null` on success, or to the reason for a refusal. */
type Action = (rooms: RoomRepository, username: string, password: string) => Promise<string | null>

const ACTIONS: Readonly<Record<string, Action>> = { L: logIn, R: register }

async function logIn(rooms: RoomRepository, username: string, password: string): Promise<string | null> {
  const stored = await rooms.passwordDigest(username)
  const isRight = timingSafeEqual(bytesOf(stored ?? UNKNOWN_USER_DIGEST), bytesOf(passwordDigest(password)))
  return stored !== null && isRight ? null : 'There is no such user, or the password is wrong.'
}

async function register(rooms: RoomRepository, username: string, password: string): Promise<string | null> {
  const length = countCodePoints(username)
  if (length === 0 || length > USERNAME_MAX_CHARACTERS) {
    return `A username must have 1 to ${USERNAME_MAX_CHARACTERS} characters.`
  }
  if (safeText(username) !== username || /[\n\t]/.test(username)) {
    return 'A username must not contain control characters or characters that change the direction of text.'
  }
  if (username.toLowerCase() === MODEL_SENDER) return `The name ${MODEL_SENDER} is reserved for the model.`
  if (password === '') return 'A password is required.'
  const isNew = await rooms.register(username, passwordDigest(password))
  return isNew ? null : `The name ${username} is taken: choose another one, or log in.`
}

/** The hexadecimal SHA-256 digest that is stored for a password. It has no salt, as the specification asks. */
export function passwordDigest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('hex')
}

function bytesOf(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}
