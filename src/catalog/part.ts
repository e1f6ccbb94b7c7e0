import { auth } from '../access/settings.ts'
import { showWorkers } from '../admin/open.ts'
import { adminSettings } from '../admin/settings.ts'
import { DATABASE_NOTE, databaseSettings, POSTGRES_NOTE } from '../database/settings.ts'
import type { Part } from '../part.ts'
import type { Command } from '../program/command.ts'
import { host, serverSettings, workers, workerTimeout } from '../server/settings.ts'
import { serveInWorkers } from '../server/workers.ts'
import { TRACING_NOTE, tracingSettings } from '../tracing/settings.ts'
import { exportCommand, importCommand } from './bulk/commands.ts'
import { categories, products, reviews, users } from './bulk/seed/settings.ts'
import { adminPage, cacheBytes, corsOrigins, eventsKept, idempotencyBytes, publicReads, servePort } from './settings.ts'

const serve: Command = {
  name: 'serve',
  summary: 'Serve the store catalog over HTTP.',
  settings: [
    host,
    servePort,
    workers,
    workerTimeout,
    ...databaseSettings,
    auth,
    publicReads,
    corsOrigins,
    adminPage,
    cacheBytes,
    idempotencyBytes,
    eventsKept,
    ...serverSettings,
    ...adminSettings,
    ...tracingSettings,
  ],
  note: `${DATABASE_NOTE}\n\n${TRACING_NOTE}`,
  run: line =>
    serveInWorkers(line, servePort, {
      serve: async (...serving) => (await import('./serve.ts')).serve(...serving),
      showMetrics: showWorkers,
    }),
}

const seed: Command = {
  name: 'seed',
  summary: 'Fill an empty database with a sample catalog; the same sizes always give the same catalog.',
  settings: [...databaseSettings, categories, products, users, reviews],
  note: POSTGRES_NOTE,
  run: async line => (await import('./bulk/seed/seed.ts')).seed(line),
}

export const catalog: Part = {
  commands: [serve, seed, importCommand, exportCommand],
  storage: async () => (await import('./tables.ts')).catalogStorage,
}
