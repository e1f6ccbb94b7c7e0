import { expect, test } from 'bun:test'
import { atRoot, LOOPBACK } from '../../../test/harness/loopback.ts'
import { listen } from '../../server/listen.ts'
import type { Fetch } from '../../server/requests.ts'
import { OwnOperations } from './own-operations.ts'

test('an operation that takes long may take as long if a page calls it', async () => {
  const deletion: Fetch = (_, scope) => {
    scope.allowIdle(120)
    return new Response('{}')
  }
  const own = new OwnOperations(new Map([['/things/:id', { DELETE: deletion }]]))
  let allowedSeconds = 0
  const page: Fetch = (_, scope) => {
    scope.allowIdle = seconds => {
      allowedSeconds = seconds
    }
    return own.call(scope, { method: 'DELETE', route: '/things/:id', id: 7 })
  }
  await using server = listen({ ...LOOPBACK, app: atRoot(page) })
  expect((await fetch(server.address)).status).toBe(200)
  expect(allowedSeconds).toBe(120)
})
