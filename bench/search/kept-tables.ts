import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BENCH } from '../catalog/servers.ts'
import type { Table } from '../table.ts'

/** A table, and what it was measured with. */
export interface KeptTable {
  readonly table: Table
  /** One line. */
  readonly circumstances: string
}

/** The tables of all runs of this version of the program, for the report: the latest with each name. */
export async function keptTables(version: string): Promise<Record<string, KeptTable>> {
  const file = Bun.file(fileOf(version))
  return (await file.exists()) ? await file.json() : {}
}

export async function keepTable(version: string, name: string, table: KeptTable): Promise<void> {
  await mkdir(dirname(fileOf(version)), { recursive: true })
  await Bun.write(fileOf(version), JSON.stringify({ ...(await keptTables(version)), [name]: table }, null, 2))
}

function fileOf(version: string): string {
  return join(BENCH, 'results', `${version}-search.json`)
}
