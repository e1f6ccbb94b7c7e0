/** `npm run bench` runs every bench; `npm run bench -- PART [OPTION ...]` one of them. */
const PARTS = ['catalog', 'postgres', 'markdown', 'chat']

const [part, ...options] = process.argv.slice(2)
const chosen = part === undefined ? PARTS : PARTS.filter(name => name === part)
if (chosen.length === 0) {
  console.error(`Usage: npm run bench -- [${PARTS.join(' | ')} [OPTION ...]]`)
  process.exitCode = 2
}
for (const name of chosen) {
  const program = new URL(`${name}/run.ts`, import.meta.url).pathname
  const { exitCode } = Bun.spawnSync([process.execPath, program, ...options], { stdout: 'inherit', stderr: 'inherit' })
  if (exitCode !== 0) {
    process.exitCode = exitCode
    break
  }
}
