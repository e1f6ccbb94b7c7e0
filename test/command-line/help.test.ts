import { expect, test } from 'bun:test'
import packageDescription from '../../package.json'
import { expectRefusal } from '../harness/refusal.ts'
import { run } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const COMMANDS = ['serve', 'seed', 'backup']

test('--help lists the commands', async () => {
  const { status, output, errors } = await run(['--help'])
  expect(status).toBe(0)
  expect(errors).toBe('')
  for (const command of COMMANDS) expect(output).toContain(command)
})

test('-h and help print the help too', async () => {
  const whole = await run(['--help'])
  expect(await run(['-h'])).toEqual(whole)
  expect(await run(['help'])).toEqual(whole)
  const ofServe = await run(['serve', '--help'])
  expect(await run(['serve', '-h'])).toEqual(ofServe)
  expect(await run(['help', 'serve'])).toEqual(ofServe)
  expectRefusal(await run(['help', 'swerve']), { status: 2, reason: /swerve/ })
})

test('without a command, the program prints its commands and exits with a status that says nothing was done', async () => {
  const { status, output, errors } = await run([])
  expect(status).toBe(2)
  for (const command of COMMANDS) expect(output + errors).toContain(command)
})

test('--help of serve lists each setting with its variable and its default', async () => {
  const { status, output, errors } = await run(['serve', '--help'])
  expect(status).toBe(0)
  expect(errors).toBe('')
  expect(output).toStartWith('Usage: stockroom serve')
  for (const [flag, variable, fallback] of [
    ['--host', 'HOST', '0.0.0.0'],
    ['--port', 'PORT', '8000'],
    ['--database', 'DATABASE_URL', 'sqlite:data/stockroom.db'],
    ['--cors-origins', 'CORS_ORIGINS', 'none'],
    ['--access-log', 'ACCESS_LOG', 'on'],
    ['--log-level', 'LOG_LEVEL', 'info'],
  ] as const) {
    const line = lineOf(output, flag)
    expect(line, flag).toContain(variable)
    expect(line, flag).toContain(fallback)
  }
})

test('--help of seed lists the sizes and their defaults', async () => {
  const { status, output, errors } = await run(['seed', '--help'])
  expect(status).toBe(0)
  expect(errors).toBe('')
  expect(output).toStartWith('Usage: stockroom seed')
  expect(lineOf(output, '--database')).toContain('DATABASE_URL')
  expect(lineOf(output, '--categories')).toContain('default 20')
  expect(lineOf(output, '--products')).toContain('default 500')
  expect(lineOf(output, '--users')).toContain('default 100')
  expect(lineOf(output, '--reviews')).toContain('default 1500')
})

test('--help of backup names the file that it takes', async () => {
  const { status, output, errors } = await run(['backup', '--help'])
  expect(status).toBe(0)
  expect(errors).toBe('')
  expect(output).toMatch(/^Usage: stockroom backup .*FILE\n/)
  expect(lineOf(output, '--database')).toContain('DATABASE_URL')
})

test('--help says of the database only what the command does with it: some create no file, or take one engine only', async () => {
  const about = async (command: string) => lineOf((await run([command, '--help'])).output, '--database')
  expect(await about('seed')).toMatch(/created .*postgres:/)
  for (const command of ['backup', 'restore']) expect(await about(command), command).not.toMatch(/created|postgres:/)
  expect(await about('export')).not.toContain('created')
  expect(await about('distribute')).not.toContain('sqlite:PATH')
})

test('--help of every command that opens a PostgreSQL names the variables of its password and of PgBouncer, which have no flags', async () => {
  for (const command of ['serve', 'seed', 'import', 'export', 'chat', 'talk', 'key', 'copy', 'distribute']) {
    const { output } = await run([command, '--help'])
    for (const variable of ['DATABASE_PASSWORD_FILE', 'DATABASE_POOLER']) expect(output, command).toContain(variable)
  }
})

test('--help on a wrong command line prints the help and does not do what the line says', async () => {
  const { status, output, errors } = await run(['serve', '--port', 'nonsense', '--help'])
  expect({ status, errors }).toEqual({ status: 0, errors: '' })
  expect(output).toStartWith('Usage: stockroom serve')
})

test('--version prints the version of the package', async () => {
  expect(await run(['--version'])).toEqual({
    status: 0,
    output: `stockroom ${packageDescription.version}\n`,
    errors: '',
  })
})

test('the program runs in any folder, and help leaves nothing behind there', async () => {
  using folder = temporaryFolder()
  const { status, output, errors } = await run(['--help'], { folder: folder.path })
  expect({ status, errors }).toEqual({ status: 0, errors: '' })
  expect(output).toStartWith('Usage: stockroom')
  expect([...new Bun.Glob('**').scanSync(folder.path)]).toEqual([])
})

test('an unknown command is refused by its name', async () => {
  expectRefusal(await run(['swerve']), { status: 2, reason: /swerve/ })
  expectRefusal(await run(['--swerve']), { status: 2, reason: /--swerve/ })
  expectRefusal(await run(['']), { status: 2, reason: /command/ })
})

test('an unknown flag is refused by its name, with where to look it up, on each command', async () => {
  const reason = /^stockroom: Unknown option '--ports'; see stockroom serve --help$/m
  expectRefusal(await run(['serve', '--ports', '0']), { status: 2, reason }, 'serve')
  expectRefusal(await run(['serve', '-p', '0']), { status: 2, reason: /-p/ }, 'serve -p')
  expectRefusal(await run(['seed', '--orders=5']), { status: 2, reason: /--orders/ }, 'seed')
  expectRefusal(await run(['backup', '--force', 'copy.db']), { status: 2, reason: /--force/ }, 'backup')
})

test('a flag of another command is unknown', async () => {
  expectRefusal(await run(['seed', '--port', '0']), { status: 2, reason: /--port/ }, 'seed')
  expectRefusal(await run(['serve', '--products', '1']), { status: 2, reason: /--products/ }, 'serve')
  expectRefusal(await run(['backup', '--log-level', 'info', 'copy.db']), { status: 2, reason: /--log-level/ }, 'backup')
})

test('a flag at the end of the line without its value is refused by its name', async () => {
  expectRefusal(await run(['serve', '--port']), { status: 2, reason: /--port/ }, 'serve')
  expectRefusal(await run(['seed', '--reviews']), { status: 2, reason: /--reviews/ }, 'seed')
  expectRefusal(await run(['backup', 'copy.db', '--database']), { status: 2, reason: /--database/ }, 'backup')
})

test('a flag whose value is missing before another flag is refused in one line', async () => {
  expectRefusal(await run(['serve', '--port', '--host', '127.0.0.1']), { status: 2, reason: /--port/ })
})

test('a negative number is refused in one line', async () => {
  expectRefusal(await run(['seed', '--products', '-1']), { status: 2, reason: /--products/ }, 'after a blank')
  expectRefusal(await run(['seed', '--products=-1']), { status: 2, reason: /--products/ }, 'after =')
})

test('a value that begins with a dash is refused with the way to write it', async () => {
  const reason =
    /^stockroom: --port: a value is required; one that begins with - is written --port=VALUE; see stockroom serve --help$/m
  expectRefusal(await run(['serve', '--port', '-1']), { status: 2, reason })
  expectRefusal(await run(['serve', '--port=-1']), { status: 2, reason: /--port: "-1" is not a whole number/ })
})

test('a word that a command has no use for is refused', async () => {
  expectRefusal(await run(['serve', 'now']), { status: 2, reason: /unexpected/ }, 'serve')
  expectRefusal(await run(['seed', '500']), { status: 2, reason: /unexpected/ }, 'seed')
  expectRefusal(await run(['backup', 'one.db', 'two.db']), { status: 2, reason: /one FILE/ }, 'backup')
})

test('backup without a file is refused', async () => {
  expectRefusal(await run(['backup']), { status: 2, reason: /FILE/ })
})

function lineOf(help: string, flag: string): string {
  return help.split('\n').find(line => line.trimStart().startsWith(`${flag} `)) ?? `no line for ${flag}`
}
