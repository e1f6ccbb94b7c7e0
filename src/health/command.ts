import type { Command } from '../program/command.ts'
import { type Setting, wholeNumber } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { host, PORT_MAX, port } from '../server/settings.ts'

const askedPort: Setting<number> = {
  ...port(8000),
  meaning: 'the port that the server listens on',
  parse: text => wholeNumber(text, 1, PORT_MAX),
}

const path: Setting<string> = {
  flag: 'path',
  placeholder: 'PATH',
  fallback: '/healthz',
  meaning: 'what to ask for; /readyz also asks whether the database works',
  parse: text => {
    if (!/^\/[\w/.-]*$/.test(text)) throw new SettingError('a path starts with a slash, for example /readyz')
    return text
  },
}

export const health: Command = {
  name: 'health',
  summary: 'Ask a server on this machine whether it works: exit status 0 if it does, else 1.',
  settings: [{ ...host, meaning: 'the address that the server listens on' }, askedPort, path],
  run: async line => {
    const { checkHealth } = await import('../server/health-check.ts')
    await checkHealth({ host: line.value(host), port: line.value(askedPort), path: line.value(path) })
  },
}
