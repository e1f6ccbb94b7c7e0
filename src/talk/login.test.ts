import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { withEachEngine } from '../../test/harness/contract.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { storeTurns } from '../../test/harness/terminal/stored-turns.ts'
import {
  CTRL_C,
  CTRL_D,
  logIn,
  PASSWORD,
  register,
  type TalkPlace,
  talkPlace,
} from '../../test/harness/terminal/talk.ts'

withEachEngine('the login', engine => {
  /** Each test has users of its own. */
  let place: TalkPlace
  beforeAll(async () => {
    place = await talkPlace(engine)
  })
  afterAll(() => place[Symbol.asyncDispose]())

  test('a name that is taken is refused, and its account stays as it was', async () => {
    await storeTurns(place, 'carol', [])
    const attempts = ['R', 'carol', 'another', 'L', 'carol', 'another']
    const { status, errors } = await place.pipe([...attempts, ...logIn('carol'), 'QUIT'])
    expect(status).toBe(0)
    expect(errors).toContain('The name carol is taken')
    expect(errors).toContain('There is no such user, or the password is wrong.')
    expect(errors.match(/Welcome, carol\./g)).toHaveLength(1)
  })

  test('of two users who register one name at once, one gets it', async () => {
    await place.pipe([])
    const both = await Promise.all([place.pipe(['R', 'dave', 'one']), place.pipe(['R', 'dave', 'two'])])
    expect(both.filter(({ errors }) => errors.includes('Welcome, dave.'))).toHaveLength(1)
    expect(both.filter(({ errors }) => errors.includes('is taken'))).toHaveLength(1)
  })

  test('a wrong password and an unknown user are reported, and the question is asked again', async () => {
    await storeTurns(place, 'erin', [])
    const unknown = ['nobody', 'Erin', 'erin\0', '\0'].flatMap(name => ['L', name, PASSWORD])
    const attempts = ['L', 'erin', 'wrong', ...unknown, 'L', 'erin', '']
    const { errors } = await place.pipe([...attempts, ...logIn('erin'), 'quit'])
    expect(errors.match(/There is no such user, or the password is wrong\.\n\[L\]og in/g)).toHaveLength(6)
    expect(errors).toContain('Welcome, erin.')
  })

  test("a username has 1 to 50 characters, no control characters, and is not the model's name", async () => {
    const longest = `${'日'.repeat(49)}👩`
    const refused = ['', '   ', `${longest}x`, 'a\u0007b', 'a\tb', 'a\u202eb', 'ai', 'AI']
    const { errors } = await place.pipe([...refused.flatMap(name => ['R', name, PASSWORD]), ...register('x'), 'quit'])
    expect(errors.match(/A username must have 1 to 50 characters\./g)).toHaveLength(3)
    expect(errors.match(/A username must not contain control characters /g)).toHaveLength(3)
    expect(errors.match(/The name ai is reserved for the model\./g)).toHaveLength(2)
    expect(errors.match(/Welcome, .*/g)).toEqual(['Welcome, x.'])
    for (const name of [longest, "'; DROP TABLE accounts; --"]) {
      expect((await place.pipe([...register(name), 'quit'])).errors, name).toContain(`Welcome, ${name}.`)
    }
  })

  test('a username is the same however its accents are composed', async () => {
    await place.pipe([...register('Zoe\u0308'), 'quit'])
    expect((await place.pipe([...register('Zo\u00eb')])).errors).toContain('is taken')
    expect((await place.pipe([...logIn('Zo\u00eb'), 'quit'])).errors).toContain('Welcome')
  })

  test('a password is stored as its hexadecimal SHA-256 digest, and its text is nowhere in the database', async () => {
    const password = 'correct-horse-battery-Ünicode'
    const session = place.sit()
    await session.shows('egister?')
    session.type(`R\rfrank\r${password}\r`)
    await session.shows('frank>')
    const digest = createHash('sha256').update(password).digest('hex')
    const stored = () => engine.everything(place.databaseUrl)
    expect(await stored()).toContain(digest)
    expect(await stored()).not.toContain(password)
    await session.kill('SIGKILL')
    expect(await stored()).not.toContain(password)
    expect(await place.pipe(['L', 'frank', password, 'quit'])).toMatchObject({ status: 0 })
    expect(await stored()).not.toContain(password)
    const accounts = await engine.read<object>(place.databaseUrl, 'SELECT username, password_sha256 FROM accounts')
    expect(accounts).toContainEqual({ username: 'frank', password_sha256: digest })
  })

  // The database has no part in what follows.
  if (engine !== sqlite) return

  test('a first session at a terminal looks like this, whole', async () => {
    const session = place.sit()
    await session.shows('[L]og in or [R]egister?')
    session.type('x\r')
    await session.shows('leaves.\n[L]og in')
    session.type('R\r')
    await session.shows('Username:')
    session.type('ada\r')
    await session.shows('Password:')
    session.type(`${PASSWORD}\r`)
    await session.shows('ada>')
    session.type('How are you?\r')
    const call = await place.model.nextCall()
    await call.answer('I am **well**, ', 'thank you.')
    await session.shows(/thank you\.\n\nada>$/)
    session.type('quit\r')
    expect(await session.ended).toBe(0)
    expect(session.screen()).toBe(`\
Stockroom talk, answered by compatible:small-model. Log in, or register.
[L]og in or [R]egister? x
L logs in, R registers; Ctrl-C leaves.
[L]og in or [R]egister? R
Username: ada
Password:
Welcome, ada.
Ctrl-C stops an answer, Alt-Enter breaks a line, arrow-up recalls, quit leaves.

ada> How are you?
I am well, thank you.

ada> quit`)
  })

  test('anything but L or R, in either case, is asked again', async () => {
    const wrong = ['', 'x', 'LR', 'quit', 'log in', '1', 'Ⓡ']
    const { status, errors } = await place.pipe([...wrong, 'r', 'bob', PASSWORD, 'quit'])
    expect(status).toBe(0)
    expect(errors.match(/\[L\]og in or \[R\]egister\?/g)).toHaveLength(wrong.length + 1)
    expect(errors).toContain('Welcome, bob.')
    expect((await place.pipe(['l', 'bob', PASSWORD, 'quit'])).errors).toContain('Welcome, bob.')
  })

  test('a password is not shown, neither when it is typed nor when it is typed ahead', async () => {
    const session = place.sit()
    await session.shows('egister?')
    session.type('R\rgrace\r')
    await session.shows('Password:')
    session.type('open ')
    session.type(`sesam\x7fme\rquit\r`)
    expect(await session.ended).toBe(0)
    const ahead = place.sit()
    await ahead.shows('egister?')
    ahead.type('L\rgrace\ropen sesame\rquit\r')
    expect(await ahead.ended).toBe(0)
    for (const { screen, received } of [session, ahead]) {
      expect(screen()).toContain('Password:\nWelcome, grace.')
      expect(received()).not.toMatch(/open|sesam/)
    }
  })

  test('an empty password is refused when registering', async () => {
    expect((await place.pipe(['R', 'heidi', ''])).errors).toContain('A password is required.')
    expect((await place.pipe(['L', 'heidi', ''])).errors).toContain('There is no such user')
  })

  test('Ctrl-C and Ctrl-D leave at every question, with status 0', async () => {
    const questions = [
      ['[R]egister?', ''],
      ['Username:', 'R\r'],
      ['Password:', 'R\rivan\r'],
      ['ivan>', 'R\rivan\rsesame\r'],
    ] as const
    for (const [question, before] of questions) {
      for (const key of [CTRL_C, CTRL_D]) {
        const session = place.sit()
        await session.shows('[R]egister?')
        session.type(key === CTRL_D && question === 'ivan>' ? before.replace('R', 'L') : before)
        await session.shows(question)
        session.type(key)
        expect(await session.ended, `${question} ${JSON.stringify(key)}`).toBe(0)
      }
    }
  })

  test('the end of the input leaves at every question, with status 0', async () => {
    const answers = ['R', 'judy', PASSWORD]
    for (let given = 0; given <= answers.length; given += 1) {
      const { status, output } = await place.pipe(answers.slice(0, given))
      expect({ status, output }, `after ${given} answers`).toEqual({ status: 0, output: '' })
    }
  })
})

test('the database files of talk are readable by their owner alone', async () => {
  await using place = await talkPlace()
  await place.enter('ada')
  for (const ending of ['', '-wal', '-shm']) {
    expect((statSync(place.databasePath + ending).mode & 0o777).toString(8), ending).toBe('600')
  }
})
