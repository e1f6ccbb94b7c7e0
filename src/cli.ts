import { keyCommand, loadAccessStorage } from './access/command.ts'
import { backupCommand, restoreCommand } from './backup/commands.ts'
import { breeds } from './breeds/part.ts'
import { catalog } from './catalog/part.ts'
import { chat } from './chat/part.ts'
import { copyCommand } from './copy/command.ts'
import { demo } from './demo/part.ts'
import { distributeCommand } from './distribute/command.ts'
import { health } from './health/command.ts'
import type { Part } from './part.ts'
import type { Command } from './program/command.ts'
import { type CommandLine, readCommandLine, requiredParent } from './program/config.ts'
import { commandHelp, programHelp } from './program/help.ts'
import { OperatorError, SettingError } from './program/operator-error.ts'
import { printError, printResult } from './program/output.ts'
import { stopWithParent } from './program/parent.ts'
import { version } from './program/version.ts'
import { talk } from './talk/part.ts'

const PARTS: readonly Part[] = [catalog, demo, breeds, chat, talk]

const loadStorages = () =>
  Promise.all([...PARTS.flatMap(({ storage }) => storage ?? []), loadAccessStorage].map(load => load()))

const COMMANDS = [
  ...PARTS.flatMap(({ commands }) => commands),
  keyCommand,
  backupCommand,
  restoreCommand(loadStorages),
  copyCommand(loadStorages),
  distributeCommand(loadStorages),
  health,
]

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv[0] === 'help' && argv.length > 1 ? [...argv.slice(1), '--help'] : argv
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      const write = name === undefined ? printError : printResult
      write(programHelp(COMMANDS))
      return name === undefined ? 2 : 0
    }
    if (name === '--version') {
      printResult(`stockroom ${version}\n`)
      return 0
    }
    const command = COMMANDS.find(candidate => candidate.name === name)
    if (!command) {
      // Repeat the word only if it cannot be an address with a password in it.
      const shown = /^[\w-]+$/.test(name) ? ` ${JSON.stringify(name)}` : ''
      throw new SettingError(`unknown command${shown}; stockroom --help lists the commands`)
    }
    if (rest.includes('--help') || rest.includes('-h')) {
      printResult(commandHelp(command))
      return 0
    }
    const parent = requiredParent()
    if (parent !== null) stopWithParent(parent)
    await command.run(lineOf(command, rest))
    return 0
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    printError(`stockroom: ${error.message}\n`)
    return error.exitStatus
  }
}

function lineOf(command: Command, words: readonly string[]): CommandLine {
  try {
    return readCommandLine(words, command.settings, command.operands)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new SettingError(`${error.message}; see stockroom ${command.name} --help`)
  }
}
