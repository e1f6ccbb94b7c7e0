import { renderTable, type Table } from '../table.ts'

/** How and where the figures were measured. */
export interface Circumstances {
  readonly version: string
  readonly date: string
  readonly machine: string
  readonly connections: number
  readonly seconds: number
  readonly rounds: number
}

/** A picture in a file of the folder `performance`. */
export interface PictureFile {
  readonly name: string
  readonly title: string
}

export interface Chapter {
  readonly title: string
  readonly text: string
  readonly pictures: readonly PictureFile[]
}

/** The whole of docs/performance.md. */
export function page(about: Circumstances, table: Table, chapters: readonly Chapter[]): string {
  return `# Performance

How fast the store catalog is on SQLite, beside other frameworks, a native server, and the most that the runtime can do. One
command measured all of this and wrote this page. Run it on your machine:

\`\`\`sh
npm run bench -- report
\`\`\`

- **Version**: ${about.version}, measured on ${about.date}.
- **Machine**: ${about.machine}.
- **Method**: the server has one core to itself and the load generator, wrk, another one; ${about.connections} connections unless a row says
  otherwise. Each server is freshly started on its own copy of the same database, warmed up, and driven for ${about.seconds} s; one
  server runs at a time, and the order rotates over ${about.rounds} ${about.rounds === 1 ? 'round' : 'rounds'}. The figures are medians over the rounds, and ratios are medians
  of the ratios within a round. All servers sync the log at each commit, so an acknowledged write is on the disk. The access
  log is off. Before anything is measured, all servers must give the same answers.
- **Database**: 5,000 products with 15,000 reviews, in 180 categories; for first reads, 300,000 products.

[bench/README.md](../bench/README.md) describes the workloads, the servers, and how the comparison is kept fair.

## The table

- \`requests/s\`, \`p50 ms\` and \`p99 ms\` are Stockroom's.
- \`to best peer\` and \`to native\` say how many times as many requests Stockroom serves as the fastest of three TypeScript
  servers (Elysia, Fastify, Express), and as a careful server in Go without a cache.
- \`of ceiling\` compares it with the runtime's own server that sends fixed bytes of the same size. No service on this runtime can
  be expected to reach 100 %.
- \`CPU µs\` is the CPU time of a server for one request. It hardly depends on what else the machine does, so trust it most. For the
  reader, it counts the creates of the others as well.

${renderTable({ ...table, title: '' }, 'markdown')}

## What the slower rows spend their time on

Instructions are those of the server in user mode, with everything cached unless the row says otherwise (\`perf stat\`, version
38e0f9e). A request that does nothing but answer takes 23,000 of them, and 14,000 in the kernel.

- **One product, one review** take 31,000. Only a quarter of the time of a cached product is spent in our code; the rest is the
  runtime's and the kernel's, which a request with fixed bytes needs a good part of, too.
- **The reviews of a product** take 47,000, fewer than a list of 20 products with 53,000, and 106,000 if they are not in the
  cache. The row has 5,000 pages, so each is read only about a dozen times in a run, and the first reads count as well.
- **A product that was never read before** spends two thirds of its time in two statements of SQLite. The best peer needs one,
  sends no \`ETag\`, and caches nothing.
- **A create** takes some 80,000 at 32 connections and as many at 256: the request and its validation, the insert, and the change
  log and commit that it shares with others. Sending its answer is the most expensive system call, 13 % of the time at 256.
- **An update** takes some 105,000: it reads the row before, writes it, and reads the reviews that its answer shows.
- **A create of a review** takes 121,000, and 53,000 in the kernel. It changes a page at a random place in the index of
  products and in that of users, and each page that a commit changes costs 4 KiB in the log, with a checksum and two system calls
  ([decision 6](decisions/0006-large-catalogs.md)).
- **One reader while others write** waits for their requests and commits, which run on the same thread
  ([decision 15](decisions/0015-acknowledgement.md)).

An earlier run was [on a faster machine](performance/faster-machine.md). Search, filters, facets and the feed have
[figures of their own](performance/search.md).

${chapters.map(chapterText).join('\n')}`
}

function chapterText({ title, text, pictures }: Chapter): string {
  const images = pictures.map(({ name, title: alternative }) => `![${alternative}](performance/${name})`)
  return `## ${title}

${[text, ...images].join('\n\n')}
`
}
