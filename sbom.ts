import { spawnSync } from 'bun'
import lock from './npm-shrinkwrap.json'
import { name } from './package.json'

interface Bom {
  readonly metadata: { readonly component: { name: string } }
  components: { readonly 'bom-ref': string }[]
  dependencies: { readonly ref: string; dependsOn: string[] }[]
}

// Prints what the package and the executable are made of, in CycloneDX: the packages of the lock file except those for
// development. npm's own `--omit=dev`, its default where NODE_ENV is production, leaves out some that are not, such as zod. Of
// the packages with the runtime, one for each platform, only one is installed.
const { stdout, success } = spawnSync(
  ['npm', 'sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application', '--include=dev'],
  { cwd: import.meta.dir, stderr: 'inherit' },
)
if (success) {
  const bom: Bom = JSON.parse(stdout.toString())
  const shipped = new Set(
    Object.entries(lock.packages)
      .filter(([, description]) => !('dev' in description))
      .map(([path, { version = '' }]) => `${path === '' ? name : path.replace(/^.*node_modules\//, '')}@${version}`),
  )
  bom.components = bom.components.filter(component => shipped.has(component['bom-ref']))
  bom.dependencies = bom.dependencies.filter(({ ref }) => shipped.has(ref))
  for (const dependency of bom.dependencies) dependency.dependsOn = dependency.dependsOn.filter(ref => shipped.has(ref))
  // npm takes the name of the folder.
  bom.metadata.component.name = name
  process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)
}
process.exitCode = success ? 0 : 1
