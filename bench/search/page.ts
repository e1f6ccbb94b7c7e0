import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BENCH } from '../catalog/servers.ts'
import { SEARCH_PAGE } from '../measured-version.ts'
import { renderTable, type Table } from '../table.ts'

/** A table, and what it was measured with. */
interface KeptTable {
  readonly table: Table
  /** One line. */
  readonly circumstances: string
}

/** Keeps a table for the page: of each name, the latest of this version of the program. */
export async function keepTable(version: string, name: string, table: KeptTable): Promise<void> {
  await mkdir(dirname(fileOf(version)), { recursive: true })
  await Bun.write(fileOf(version), JSON.stringify({ ...(await keptTables(version)), [name]: table }, null, 2))
}

/** Writes `docs/performance/search.md` with the tables of all runs of this version. */
export async function writePage(version: string): Promise<void> {
  const tables = Object.values(await keptTables(version))
  const machines = [...new Set(tables.map(({ circumstances }) => circumstances))]
  await Bun.write(
    SEARCH_PAGE,
    `# Search, filters, facets and the feed

How long a shopper waits, and how much that slows down everybody else, beside the required limits. This command measured all of it
and wrote this page:

\`\`\`sh
npm run bench -- search --report
\`\`\`

- **Version**: ${version}, measured on ${new Date().toISOString().slice(0, 10)}.
${machines.map(machine => `- **Measured on**: ${machine}.`).join('\n')}
- **Method**: [bench/README.md](../../bench/README.md#search-filters-facets-and-the-feed).

${tables.map(({ table, circumstances }) => `${chapter(table)}${machines.length > 1 ? `\n${circumstances}.\n` : ''}`).join('\n')}`,
  )
  console.error(`wrote ${SEARCH_PAGE}`)
}

function chapter(table: Table): string {
  return `## ${table.title}\n\n${renderTable({ ...table, title: '' }, 'markdown').trimEnd()}\n`
}

async function keptTables(version: string): Promise<Record<string, KeptTable>> {
  const file = Bun.file(fileOf(version))
  return (await file.exists()) ? await file.json() : {}
}

function fileOf(version: string): string {
  return join(BENCH, 'results', `${version}-search.json`)
}
