/**
 * `npm run bench` runs every bench; `npm run bench -- PART [OPTION ...]` runs one, `--quick` alone the catalog.
 * `--against REVISION` compares this version with that one instead.
 */
const PARTS = ['catalog', 'growth', 'postgres', 'markdown', 'chat', 'hostile']

/** Writes docs/performance.md; only when it is asked for. */
const REPORT = 'report'

const words = process.argv.slice(2)
const [part, ...options] = words[0] === '--quick' ? ['catalog', ...words] : words
if (words.some(word => word.startsWith('--against'))) {
  process.exitCode = run('versions', words)
} else {
  const chosen = part === undefined ? PARTS : [...PARTS, REPORT].filter(name => name === part)
  if (chosen.length === 0) {
    console.error(`Usage: npm run bench -- [${[...PARTS, REPORT].join(' | ')} [OPTION ...]]
       npm run bench -- --quick [OPTION ...]
       npm run bench -- [${PARTS.join('] [')}] --against REVISION [OPTION ...]`)
    process.exitCode = 2
  }
  for (const name of chosen) {
    process.exitCode = run(name, options)
    if (process.exitCode !== 0) break
  }
}

function run(name: string, argv: readonly string[]): number {
  const program = new URL(`${name}/run.ts`, import.meta.url).pathname
  return Bun.spawnSync([process.execPath, program, ...argv], { stdout: 'inherit', stderr: 'inherit' }).exitCode
}
