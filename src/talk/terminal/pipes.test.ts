import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn, spawnSync } from 'bun'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { commandLine, run, surroundingsOf } from '../../../test/harness/service.ts'
import {
  logIn,
  PASSWORD,
  register,
  startAtTerminal,
  type TalkPlace,
  talkPlace,
} from '../../../test/harness/terminal/talk.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const ESCAPE = /\x1b/

const LINE_MAX_CHARACTERS = 1_048_576

/** Characters of three bytes each, of which a pipe does not hold as many. */
const MORE_THAN_A_PIPE = 40_000

test('piped, only answers go to standard output, and everything else to standard error', async () => {
  await using place = await talkPlace()
  const talking = place.pipe([...register('ada'), 'One?', 'Two?', 'quit'])
  const one = await place.model.nextCall()
  await one.answer('# One\n\n', '**1**')
  const two = await place.model.nextCall()
  await two.answer('Two\n')
  expect(await talking).toEqual({
    status: 0,
    output: '# One\n\n**1**\nTwo\n',
    errors: `\
Stockroom talk, answered by compatible:small-model. Log in, or register.
[L]og in or [R]egister? R
Username: ada
Password: 
Welcome, ada.

ada> One?

ada> Two?

ada> quit
`,
  })
})

test('piped, an answer is passed on as it arrives', async () => {
  await using place = await talkPlace()
  const { child } = startTalk(place, 'Go', 'quit', '')
  const call = await place.model.nextCall()
  const reader = child.stdout.getReader()
  for (const piece of ['first ', 'second ']) {
    await call.send(piece)
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toBe(piece)
  }
  await call.finish()
  await child.exited
})

test('the end of the input ends the session, after its last line is answered', async () => {
  await using place = await talkPlace()
  const talking = run(['talk', '--database', `sqlite:${place.databasePath}`], {
    environment: place.model.environment,
    input: `R\r\nada\r\n${PASSWORD}\r\nNo line break at the end`,
  })
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('No line break at the end')
  await call.answer('Well.')
  expect(await talking).toMatchObject({ status: 0, output: 'Well.\n' })
  expect((await place.pipe([...logIn('ada'), 'quit'])).status).toBe(0)
})

test('the rest of a line that is too long is not another prompt', async () => {
  await using place = await talkPlace()
  const { child, write } = startTalk(place, 'x'.repeat(LINE_MAX_CHARACTERS))
  const errors = child.stderr.getReader()
  let told = ''
  while (!told.includes('shorten it')) told = told.slice(-100) + new TextDecoder().decode((await errors.read()).value)
  for (const text of ['rest', ' of it\nNext', '\n']) write(text)
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('Next')
  await call.answer('Well.')
  child.stdin.end()
  expect(await child.exited).toBe(0)
  expect(place.model.calls).toHaveLength(1)
})

test('no escape sequence goes into a pipe', async () => {
  await using place = await talkPlace()
  const talking = place.pipe([...register('ada'), 'Go \x1b[31mred'], [], { environment: { FORCE_COLOR: '3' } })
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('Go red')
  await call.answer('# A\n\n\x1b[2J**b**\n\n```js\nlet a\n```')
  const { output, errors } = await talking
  expect(output).toBe('# A\n\n**b**\n\n```js\nlet a\n```\n')
  expect(errors).not.toMatch(ESCAPE)
})

test('at a terminal with piped output, the user still sees the questions, and the pipe gets the answers', async () => {
  await using place = await talkPlace()
  const file = join(place.folder, 'answers.txt')
  await using session = startAtTerminal(['talk', '--database', `sqlite:${place.databasePath}`], {
    environment: place.model.environment,
    through: ['bash', '-c', `exec "$@" > '${file}'`, 'bash'],
  })
  await session.shows('egister?')
  session.type(`R\rada\r${PASSWORD}\r`)
  await session.shows(/ada>$/)
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.answer('An **answer**')
  await session.shows(/ada> Go\n\nada>$/)
  session.type('quit\r')
  expect(await session.ended).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('An **answer**\n')
})

test('a reader of the pipe that leaves ends the session cleanly', async () => {
  await using place = await talkPlace()
  const talking = run(['talk', '--database', `sqlite:${place.databasePath}`], {
    environment: place.model.environment,
    through: ['bash', '-c', 'set -o pipefail; "$@" | head -n 1', 'bash'],
    input: [...register('ada'), 'One?', 'Two?', 'Three?', ''].join('\n'),
  })
  const one = await place.model.nextCall()
  await one.answer('first\n')
  const two = await place.model.nextCall()
  for (const piece of ['a\n', 'b\n', 'c\n']) await two.send(piece)
  await two.finish()
  const { status, output, errors } = await Promise.race([
    talking,
    place.model.nextCall().then(async call => {
      await call.answer('third\n')
      return talking
    }),
  ])
  expect(output).toBe('first\n')
  expect(status).toBe(0)
  expect(errors).not.toMatch(/^ +at |EPIPE/m)
})

test('if the input is a pipe, Ctrl-C stops an answer and drops what was piped before it, to the end of its line, and leaves the second time', async () => {
  await using place = await talkPlace()
  const { child, write } = startTalk(place, 'Go', 'A line that')
  const call = await place.model.nextCall()
  await call.send('So far')
  const reader = child.stdout.getReader()
  await reader.read()
  child.kill('SIGINT')
  await call.closed
  const errors = child.stderr.getReader()
  let told = ''
  const reads = async (end: RegExp) => {
    while (!end.test(told)) told += new TextDecoder().decode((await errors.read()).value)
  }
  await reads(/stored\]\n\nada> $/)
  write(' has not arrived yet\nNext\n')
  const next = await place.model.nextCall()
  expect(next.prompt).toEndWith('\nNext')
  await next.answer('Well')
  await reads(/Next\n\nada> $/)
  // A second one right away would count as the same.
  await Bun.sleep(300)
  child.kill('SIGINT')
  expect(await child.exited).toBe(0)
})

test('a signal to end is not forgotten because the input goes on', async () => {
  await using place = await talkPlace()
  const { child, write } = startTalk(place, 'Go', '')
  const call = await place.model.nextCall()
  await call.send('So far')
  await child.stdout.getReader().read()
  // The answer is not stored before the writer has written more.
  using holder = new Database(place.databasePath)
  holder.run('BEGIN IMMEDIATE')
  child.kill('SIGTERM')
  await call.closed
  write('More\n')
  await Bun.sleep(100)
  holder.run('ROLLBACK')
  expect(await Promise.race([child.exited, place.model.nextCall()])).toBe(0)
})

test('a signal ends talk although the reader of the pipe has stopped reading, and what there is of the answer is stored', async () => {
  await using place = await talkPlace()
  const path = join(place.folder, 'pipe')
  expect(spawnSync(['mkfifo', path]).exitCode).toBe(0)
  // Opened for both, so that no opening waits for the other end.
  await using reader = await open(path, 'r+')
  await using writer = await open(path, 'r+')
  const child = spawn(commandLine(['talk', '--database', `sqlite:${place.databasePath}`], {}), {
    ...surroundingsOf({ environment: place.model.environment }),
    stdin: 'pipe',
    stdout: writer.fd,
    stderr: 'ignore',
  })
  child.stdin.write([...register('ada'), 'Go', ''].join('\n'))
  child.stdin.flush()
  const call = await place.model.nextCall()
  const answer = '木'.repeat(MORE_THAN_A_PIPE)
  await call.send(answer)
  await reader.read(Buffer.alloc(1), 0, 1)
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
  using database = new Database(place.databasePath)
  const stored = database.query('SELECT text, stopped FROM messages ORDER BY id DESC LIMIT 1').get()
  expect(stored).toEqual({ text: answer, stopped: 1 })
})

test('Ctrl-C that arrives twice, from the terminal and from npm or the launcher, stops an answer and does not leave', async () => {
  await using place = await talkPlace()
  const launcher = ['node', '--import', 'data:text/javascript,delete process.execve', 'bin/stockroom.js']
  const child = spawn(commandLine(['talk', '--database', `sqlite:${place.databasePath}`], { program: launcher }), {
    ...surroundingsOf({ environment: place.model.environment, folder: join(import.meta.dir, '../../..') }),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
    detached: true,
  })
  child.stdin.write([...register('ada'), 'Go', ''].join('\n'))
  child.stdin.flush()
  const call = await place.model.nextCall()
  await call.send('So far')
  await child.stdout.getReader().read()
  // To the process group, as a terminal does.
  process.kill(-child.pid, 'SIGINT')
  await call.closed
  child.stdin.write('Again\nquit\n')
  child.stdin.end()
  const again = await place.model.nextCall()
  expect(again.prompt).toEndWith('Again')
  await again.answer('Well.')
  expect(await child.exited).toBe(0)
})

test('a wrong setting ends talk with status 2 and one line, before anything is asked or created', async () => {
  await using place = await talkPlace()
  const wrong: [string[], Record<string, string>, RegExp][] = [
    [['--last', '0'], {}, /--last/],
    [['--last', 'ten'], {}, /--last/],
    [['--last'], {}, /--last/],
    [['--json'], {}, /--json/],
    [['--search', ''], {}, /--search/],
    [['--export', ''], {}, /--export/],
    [['--forget', '--last', '1'], {}, /one at a time/],
    [['--forget', '--export', 'room.md'], {}, /one at a time/],
    [['--forget=yes'], {}, /forget/],
    [['--unknown'], {}, /--unknown/],
    [['hello'], {}, /flags/],
    [[], { CHAT_MODEL: 'wrong' }, /CHAT_MODEL/],
    [[], { CHAT_MODEL: 'openai:gpt-5-mini' }, /OPENAI_API_KEY/],
    [[], { CHAT_BASE_URL: 'wrong' }, /CHAT_BASE_URL/],
    [['--database', 'mysql://x'], {}, /--database/],
  ]
  for (const [flags, environment, reason] of wrong) {
    const refused = await place.pipe([], flags, { environment })
    expectRefusal(refused, { status: 2, reason }, `${flags.join(' ')} ${JSON.stringify(environment)}`)
  }
  expect(existsSync(place.databasePath)).toBe(false)
})

test('talk keeps its history in the folder where it is started, as --help says', async () => {
  await using place = await talkPlace()
  const environment = place.model.environment
  const { status } = await run(['talk'], { folder: place.folder, environment, input: 'R\nada\nsesame\nquit\n' })
  expect(status).toBe(0)
  expect(existsSync(join(place.folder, 'data/stockroom.db'))).toBe(true)
  const { output } = await run(['talk', '--help'])
  expect(output).toContain('data/stockroom.db')
  expect(output).toContain('readable by its owner only')
})

/** Starts talk with pipes in place of a terminal, registers a user, and sends these lines, the last one without its end. */
function startTalk({ databasePath, model }: TalkPlace, ...lines: readonly string[]) {
  const child = spawn(commandLine(['talk', '--database', `sqlite:${databasePath}`], {}), {
    ...surroundingsOf({ environment: model.environment }),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const write = (text: string) => {
    child.stdin.write(text)
    child.stdin.flush()
  }
  write([...register('ada'), ...lines].join('\n'))
  return { child, write }
}
