/**
 * `npm run bench` runs every bench; `npm run bench -- PART [OPTION ...]` runs one, `--quick` alone the catalog.
 * `--against REVISION` compares this version with that one instead; `search` does so by itself.
 */
const PARTS = ['catalog', 'growth', 'postgres', 'markdown', 'chat', 'hostile']

/** Take long, or write docs/performance.md; only when they are asked for. */
const ON_REQUEST = ['search', 'report']

/** The options of the benches that have no help of their own. */
const OPTIONS: Readonly<Record<string, string>> = {
  markdown: '',
  chat: ' [--markdown]',
  hostile: ' [--only=KIND,KIND] [--root=CHECKOUT] [--markdown]',
}

const words = process.argv.slice(2)
const [part, ...options] = words[0] === '--quick' ? ['catalog', ...words] : words
if (part !== 'search' && words.some(word => word.startsWith('--against'))) {
  process.exitCode = run('versions', words)
} else if (part !== undefined && OPTIONS[part] !== undefined && options.includes('--help')) {
  console.log(`Usage: npm run bench -- ${part}${OPTIONS[part]}`)
} else {
  const chosen = part === undefined ? PARTS : [...PARTS, ...ON_REQUEST].filter(name => name === part)
  if (chosen.length === 0) {
    console.error(`Usage: npm run bench -- [${[...PARTS, ...ON_REQUEST].join(' | ')} [OPTION ...]]
       npm run bench -- --quick [OPTION ...]
       npm run bench -- [PART ...] --against REVISION [OPTION ...]
       npm run bench -- search --against REVISION [OPTION ...]`)
    process.exitCode = 2
  }
  for (const name of chosen) {
    process.exitCode = run(name, options)
    if (process.exitCode !== 0) break
  }
}

function run(name: string, argv: readonly string[]): number {
  const program = new URL(`${name}/run.ts`, import.meta.url).pathname
  const bench = Bun.spawnSync([process.execPath, program, ...argv], { stdout: 'inherit', stderr: 'inherit' })
  // One that a signal has ended has no exit status.
  return bench.signalCode === undefined ? bench.exitCode : 1
}
