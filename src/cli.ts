import { version } from '../package.json'
import type { Command } from './command.ts'
import { indispensableParent } from './config.ts'
import { commandHelp, programHelp } from './help.ts'
import { OperatorError, SettingError } from './operator-error.ts'
import { endWithParent } from './parent.ts'

/** By name. What a command needs is loaded when it is asked for: together they take several times as long to start as each. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./catalog/command.ts')).serve,
  breeds: async () => (await import('./breeds/command.ts')).breeds,
  chat: async () => (await import('./chat/command.ts')).chat,
  talk: async () => (await import('./talk/command.ts')).talk,
  seed: async () => (await import('./catalog/seed/command.ts')).seed,
  backup: async () => (await import('./catalog/operations/backup.ts')).backup,
  copy: async () => (await import('./copy/command.ts')).copy,
  licenses: async () => (await import('./licenses/command.ts')).licenses,
}

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      const stream = name === undefined ? process.stderr : process.stdout
      stream.write(programHelp(await Promise.all(Object.values(COMMANDS).map(load => load()))))
      return name === undefined ? 2 : 0
    }
    if (name === '--version') {
      process.stdout.write(`stockroom ${version}\n`)
      return 0
    }
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (!load) {
      // Repeated only where it cannot be an address with a password.
      const named = /^[\w-]+$/.test(name) ? `no command ${JSON.stringify(name)}` : 'no such command'
      throw new SettingError(`there is ${named}; stockroom --help lists them`)
    }
    const command = await load()
    if (rest.includes('--help') || rest.includes('-h')) {
      process.stdout.write(commandHelp(command))
      return 0
    }
    const parent = indispensableParent()
    if (parent !== null) endWithParent(parent)
    await command.run(rest)
    return 0
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    process.stderr.write(`stockroom: ${error.message}\n`)
    return error.exitStatus
  }
}
