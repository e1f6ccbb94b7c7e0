import { expect, setDefaultTimeout, test } from 'bun:test'
import { citus } from '../../../test/harness/engines.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

interface Warning {
  readonly setting: string
  readonly server: string
  readonly value: number
  readonly command: string
}

test.skipIf(citus === null)(
  'a start on Citus warns of each setting that is not as advised, and of none that is',
  async () => {
    if (citus === null) throw new Error('there is no cluster')
    await using database = await citus.freshDatabase()
    const name = new URL(database.url).pathname.slice(1)
    const set = (setting: string, value: string) =>
      citus?.write(database.url, `ALTER DATABASE ${name} SET ${setting} = ${value}`)

    await set('citus.max_adaptive_executor_pool_size', '16')
    await set('citus.node_connection_timeout', "'30s'")
    // Otherwise each worker changes the role on the others, too, and waits for them.
    const alone = 'SET citus.enable_alter_role_set_propagation = off'
    const refused = await citus.read(
      database.url,
      `SELECT result FROM run_command_on_workers(
        '${alone}; ALTER ROLE CURRENT_USER IN DATABASE ${name} SET lock_timeout = 7000'
      ) WHERE NOT success`,
    )
    expect(refused).toEqual([])
    const before = await warningsAt(database.url, ['citus.max_adaptive_executor_pool_size', 'lock_timeout'])
    expect(before).toContainEqual({
      setting: 'citus.max_adaptive_executor_pool_size',
      server: 'the coordinator',
      value: 16,
      command: 'ALTER SYSTEM SET citus.max_adaptive_executor_pool_size = 2; SELECT pg_reload_conf()',
    })
    expect(before.map(({ setting }) => setting)).toContain('citus.node_connection_timeout')
    expect(before).toContainEqual({
      setting: 'lock_timeout',
      server: expect.stringMatching(/:\d+$/),
      value: 7_000,
      command: expect.stringMatching(/^ALTER ROLE \w+ SET lock_timeout = '1s'$/),
    })
    expect(before.map(({ setting }) => setting)).not.toContain('shards')

    await set('citus.max_adaptive_executor_pool_size', '2')
    // The one that is looked at last, so that all others have been looked at.
    const [spread] = await citus.read<{ table: string }>(
      database.url,
      `SELECT alter_distributed_table('products', shard_count := 1, cascade_to_colocated := true)::text AS table`,
    )
    expect(spread).toBeDefined()
    const after = await warningsAt(database.url, ['shards'])
    expect(after).toContainEqual({
      setting: 'shards',
      server: expect.stringMatching(/^the tables on \d+ servers$/),
      value: 1,
      command: expect.stringMatching(/shard_count := \d+, cascade_to_colocated := true\) while nobody writes$/),
    })
    const names = after.map(({ setting }) => setting)
    expect(names).toContain('citus.node_connection_timeout')
    expect(names).not.toContain('citus.max_adaptive_executor_pool_size')
  },
)

/** The warnings of a start, when those of some settings are there. */
async function warningsAt(url: string, expected: readonly string[]): Promise<Warning[]> {
  await using service = await startService(url)
  const warnings = (): Warning[] =>
    service
      .errors()
      .split('\n')
      .filter(line => line.includes('"level":"warning"'))
      .map(line => JSON.parse(line))
      .filter(line => line.setting !== undefined)
      .map(({ setting, server, value, command }) => ({ setting, server, value, command }))
  await until(() => expected.every(name => warnings().some(({ setting }) => setting === name)))
  return warnings()
}
