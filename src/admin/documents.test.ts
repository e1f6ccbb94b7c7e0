import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { z } from 'zod'
import { startChatServer } from '../../test/harness/chat/chat-server.ts'
import { client } from '../../test/harness/client.ts'
import { citus, type Engine, postgres, sqlite } from '../../test/harness/engines.ts'
import { type ScrapedFamily, scrape, WITH_METRICS } from '../../test/harness/metrics.ts'
import { sample } from '../../test/harness/samples.ts'
import { startServer, startService } from '../../test/harness/service.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')
const GUIDE = readFileSync(join(ROOT, 'docs/metrics.md'), 'utf8')

/** The labels and the metric that Prometheus adds. */
const ADDED_LABELS = ['job', 'instance']
const ADDED_METRIC = 'up'

const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).default([]) })),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
})

const open = new AsyncDisposableStack()
/** The metrics of all servers together, each after it has done some of everything. */
const shown = new Map<string, ScrapedFamily & { readonly labels: Set<string> }>()
beforeAll(async () => {
  const workers = process.platform === 'linux' ? ['--workers', '2'] : []
  for (const families of [
    await ofCatalog(sqlite, workers),
    await ofCatalog(postgres),
    ...(citus ? [await ofCatalog(citus)] : []),
    await ofChat(),
    await ofBreeds(),
  ]) {
    for (const family of families) {
      const labels = shown.get(family.name)?.labels ?? new Set<string>()
      for (const label of family.samples.flatMap(({ labels }) => Object.keys(labels))) labels.add(label)
      shown.set(family.name, { ...family, labels })
    }
  }
})
afterAll(() => open.disposeAsync())

test('the guide lists each metric with its type, its labels and the text that /metrics shows', () => {
  const rows = [...GUIDE.matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.*?) +\|$/gm)]
  const known = rows.filter(([, name]) => citus !== null || !name?.startsWith('stockroom_citus_'))
  const listed = known.map(([, name = '', kind = '', labels = '', help = '']) => ({ name, kind, labels, help }))
  const expected = [...shown.values()].map(({ name, kind, labels, help }) => ({
    name,
    kind,
    labels: [...labels]
      .filter(label => label !== 'le')
      .map(label => `\`${label}\``)
      .join(', '),
    help,
  }))
  expect(listed).toEqual(expected.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
})

test('each panel of the dashboard asks for metrics and labels that /metrics shows', () => {
  const dashboard = Dashboard.parse(JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/stockroom.json'), 'utf8')))
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect(expressions.length).toBeGreaterThan(40)
  expect(expressions.flatMap(unknownIn)).toEqual([])
  const asked = new Set(expressions.flatMap(expression => partsOf(expression).metrics.map(familyOf)))
  // The dashboard shows nearly everything.
  expect(asked.size).toBeGreaterThan(shown.size * 0.7)
  expect(JSON.stringify(dashboard.templating)).toContain('label_values(stockroom_build_info, job)')
})

test('each query of the guide asks for metrics and labels that /metrics shows', () => {
  const alerts = [...GUIDE.matchAll(/```promql\n(.*?)```/gs)].flatMap(([, text = '']) =>
    text.split('\n').filter(line => line !== '' && !line.startsWith('#')),
  )
  expect(alerts.length).toBeGreaterThan(5)
  expect(alerts.flatMap(unknownIn)).toEqual([])
})

/** The mistakes in a query: its syntax, and names that /metrics does not show. */
function unknownIn(expression: string): string[] {
  const { errors, metrics, labels } = partsOf(expression)
  const known = new Set([...shown.values()].flatMap(family => [...family.labels]).concat(ADDED_LABELS, 'le'))
  return [
    ...errors.map(at => `error at ${at}: ${expression}`),
    ...metrics.filter(name => name !== ADDED_METRIC && !shown.has(familyOf(name))),
    ...labels.filter(label => !known.has(label)),
  ]
}

function partsOf(expression: string) {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const [errors, metrics, labels]: [number[], string[], string[]] = [[], [], []]
  parser.parse(text).iterate({
    enter: ({ type, name, from, to }) => {
      if (type.isError) errors.push(from)
      if (name === 'Identifier') metrics.push(text.slice(from, to))
      if (name === 'LabelName') labels.push(text.slice(from, to))
    },
  })
  return { errors, metrics, labels }
}

/** The name of a histogram without that of its part. */
function familyOf(name: string): string {
  return shown.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
}

async function ofCatalog(engine: Engine, flags: readonly string[] = []): Promise<readonly ScrapedFamily[]> {
  const database = open.use(await engine.freshDatabase())
  await using service = await startService(database.url, { flags: [...WITH_METRICS, ...flags] })
  const api = client(() => service.address)
  const id = await api.create('/categories/', sample.category)
  await api.get(`/categories/${id}`)
  return (await scrape(service)).families
}

async function ofChat(): Promise<readonly ScrapedFamily[]> {
  await using server = await startChatServer(sqlite, { environment: { ADMIN_PORT: '0' } })
  await server.chat.post('one', 'What is this?')
  const listener = server.chat.listen('one')
  await (await server.model.nextCall()).answer('A test')
  await listener.end()
  return (await scrape(server.service)).families
}

async function ofBreeds(): Promise<readonly ScrapedFamily[]> {
  await using service = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0', ...WITH_METRICS])
  return (await scrape(service)).families
}
