import { countCodePoints } from '../text/code-points.ts'
import { isSameDigest, passwordDigest } from './accounts/password.ts'
import type { AccountRepository } from './accounts/repository.ts'
import { whatFailed } from './failure.ts'
import { MODEL_SENDER } from './rooms/repository.ts'
import { safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'

/** Counted in code points. */
const USERNAME_MAX_CHARACTERS = 50

/** What an unknown user's password is compared with, so that it takes as long as for a known one. */
const NOBODYS_DIGEST = passwordDigest('')

/** Lets the user log in or register, asking until it succeeds. Resolves to the user's name; `null` when the user leaves. */
export async function enter(terminal: Terminal, accounts: AccountRepository): Promise<string | null> {
  for (;;) {
    const choice = await terminal.ask({ text: '[L]og in or [R]egister? ' })
    if (choice === null) return null
    const way = WAYS[choice.trim().toUpperCase()]
    if (!way) {
      terminal.remark('L logs in, R registers; Ctrl-C leaves.')
      continue
    }
    const username = await terminal.ask({ text: 'Username: ' })
    if (username === null) return null
    const password = await terminal.ask({ text: 'Password: ', isHidden: true })
    if (password === null) return null
    const name = username.trim().normalize()
    try {
      const refusal = await way(accounts, name, password)
      if (refusal === null) return name
      terminal.complain(refusal)
    } catch (error) {
      terminal.complain(whatFailed(error))
    }
  }
}

/** Resolves to why it is refused, `null` when it is not. */
type Way = (accounts: AccountRepository, username: string, password: string) => Promise<string | null>

const WAYS: Readonly<Record<string, Way>> = { L: logIn, R: register }

async function logIn(accounts: AccountRepository, username: string, password: string): Promise<string | null> {
  const account = await accounts.find(username)
  const isRight = isSameDigest(account?.passwordDigest ?? NOBODYS_DIGEST, passwordDigest(password))
  return account && isRight ? null : 'There is no such user, or the password is wrong.'
}

async function register(accounts: AccountRepository, username: string, password: string): Promise<string | null> {
  const length = countCodePoints(username)
  if (length === 0 || length > USERNAME_MAX_CHARACTERS) {
    return `A username has 1 to ${USERNAME_MAX_CHARACTERS} characters.`
  }
  if (safeText(username) !== username || /[\n\t]/.test(username))
    return 'A username has no control characters, nor any that change the direction of text.'
  if (username.toLowerCase() === MODEL_SENDER) return `The name ${MODEL_SENDER} is the model's.`
  if (password === '') return 'A password is needed.'
  const isNew = await accounts.register({ username, passwordDigest: passwordDigest(password) })
  return isNew ? null : `The name ${username} is taken: choose another one, or log in.`
}
