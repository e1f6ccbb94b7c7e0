import { SQL } from 'bun'

export interface TestDatabase extends AsyncDisposable {
  readonly name: string
  readonly url: string
}

/** Makes an empty database beside the one of `serverUrl`. It is dropped when it is disposed of, whoever still uses it. */
export async function createDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await using sql = connected(serverUrl)
  // The template that nobody connects to: a database that somebody uses cannot be copied.
  await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`)
  const url = new URL(serverUrl)
  url.pathname = name
  return {
    name,
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      await using sql = connected(serverUrl)
      await sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
}

/** One connection, to look at a database and to work on it beside the service. */
export function connected(url: string): SQL {
  return new SQL(url, { max: 1, connection: { application_name: 'test' } })
}
