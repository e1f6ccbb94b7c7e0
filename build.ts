import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawnSync } from 'bun'
import { NOTICES_NAME } from './src/licenses/licenses.ts'
import { collectNotices } from './src/licenses/notices.ts'

// Builds the executable into `dist` or the given folder. The third-party notices are embedded in it and written beside it.
const folder = resolve(process.argv[2] ?? join(import.meta.dir, 'dist'))
const notices = join(folder, `${NOTICES_NAME}.txt`)
await Bun.write(notices, collectNotices())
const { exitCode } = spawnSync(
  [
    process.execPath,
    ...['build', '--compile', '--minify', '--sourcemap', `--outfile=${join(folder, 'stockroom')}`],
    ...['--loader=.txt:file', '--asset-naming=[name].[ext]', 'src/cli.ts', notices],
  ],
  { cwd: import.meta.dir, stdout: 'inherit', stderr: 'inherit' },
)
// The bundler also writes an empty source map for the notices.
rmSync(join(folder, `${NOTICES_NAME}.js.map`), { force: true })
process.exitCode = exitCode
