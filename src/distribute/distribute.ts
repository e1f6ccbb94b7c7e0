import { type DistributionPlan, distributeTables } from '../database/postgres/distribution.ts'
import { database } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import { plural } from '../plural.ts'
import type { CommandLine } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'
import { progress } from '../program/progress.ts'

export async function distribute(line: CommandLine, storages: readonly Storage[]): Promise<void> {
  const address = line.value(database)
  if (address.engine !== 'postgres') {
    throw new SettingError('only a PostgreSQL database can be distributed; stockroom copy moves one from SQLite')
  }
  const shown = progress()
  const began = performance.now()
  const { tables, servers } = await distributeTables(
    address,
    storages.map(({ migrations }) => migrations),
    {
      begins: plan => shown.note(announced(address.place, plan)),
      isDoing: ({ name, rows }, isDone) => shown.report(name, isDone ? 1 : 0, 1, rows),
    },
  )
  const seconds = Math.ceil((performance.now() - began) / 1_000)
  const counts = tables.map(({ name, rows }) => `${rows} ${name}`)
  print(`Distributed over ${servers} servers in ${seconds} s: ${counts.join(', ')}\n`)
}

function announced(place: string, { tables, servers, shards, seconds }: DistributionPlan): string {
  const listed = (isWhole: boolean) =>
    tables
      .filter(table => table.isWhole === isWhole)
      .map(({ name, rows }) => `${rows} ${name}`)
      .join(', ')
  const megabytes = tables.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6
  return `Distributing ${place}, ${megabytes.toFixed(1)} MB:
  spread over ${servers} ${plural('server', servers)} in ${shards} shards: ${listed(false)}
  whole on every server: ${listed(true)}
It takes about ${Math.ceil(seconds)} s, by a trial with some of the rows. Until then, nothing else can use the tables. If it fails, they are as before.`
}
