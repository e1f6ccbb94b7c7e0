import { getConfig, getLogger } from '@logtape/logtape'
import { printError } from '../program/output.ts'

const log = getLogger(['stockroom', 'database'])

/**
 * Tells operators why a start has to wait. `message` names properties in braces. Servers log it; most commands keep no log, so
 * standard error gets it.
 */
export function tellOfWait(message: string, properties: Readonly<Record<string, string>>): void {
  if (getConfig()) log.warning(message, properties)
  else printError(`${message.replace(/\{(\w+)\}/g, (_, name) => properties[name] ?? '')}\n`)
}
