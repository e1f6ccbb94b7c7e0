import type { Setting } from '../program/config.ts'
import { host, port } from '../server/settings.ts'

/** Anyone who can reach the demo may change everything in it, so only this machine can by default. */
export const demoHost: Setting<string> = { ...host, fallback: 'localhost' }

export const demoPort = port(8000)
