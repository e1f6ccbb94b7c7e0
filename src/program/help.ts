import type { Command } from './command.ts'
import type { Setting } from './config.ts'

export function programHelp(commands: readonly Command[]): string {
  const rows = commands.map(command => [command.name, command.summary] as const)
  return [
    'Usage: stockroom COMMAND [OPTION ...]',
    '',
    ...columns(rows),
    '',
    'Run stockroom COMMAND --help for details, or stockroom --version for the version.',
    '',
  ].join('\n')
}

export function commandHelp(command: Command): string {
  const operands = command.operands === undefined ? '' : ` ${command.operands}`
  const rows = command.settings.map(
    setting => [`--${setting.flag} ${setting.placeholder}`.trim(), meaning(setting)] as const,
  )
  return [
    `Usage: stockroom ${command.name} [OPTION ...]${operands}`,
    '',
    command.summary,
    '',
    ...columns([...rows, ['--help', 'print this text']]),
    '',
    ...(command.note === undefined ? [] : [command.note, '']),
  ].join('\n')
}

function meaning(setting: Setting<unknown>): string {
  const fallback = setting.fallback === '' ? [] : [`default ${setting.fallback}`]
  const variable = setting.variable ? [`variable ${setting.variable}`] : []
  const notes = [...fallback, ...variable].join('; ')
  return notes === '' ? setting.meaning : `${setting.meaning} (${notes})`
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
