import { expect, test } from 'bun:test'
import { atRoot, LOOPBACK } from '../../test/harness/loopback.ts'
import { errorResponse } from './errors.ts'
import { listen } from './listen.ts'
import { refuseOtherOrigins } from './own-pages.ts'

/** Sends requests with these headers to a server that serves only its own pages. */
async function statuses(requests: readonly Record<string, string>[]): Promise<number[]> {
  await using server = listen({
    ...LOOPBACK,
    app: atRoot((request, { requestId }) => {
      try {
        refuseOtherOrigins(request.headers)
        return new Response()
      } catch (error) {
        return errorResponse(error, requestId)
      }
    }),
  })
  return await Promise.all(
    requests.map(async headers => (await fetch(server.address, { method: 'POST', headers })).status),
  )
}

function all(status: number, requests: readonly unknown[]): number[] {
  return requests.map(() => status)
}

test('a client that sends neither Origin nor Sec-Fetch-Site is served', async () => {
  expect(await statuses([{}])).toEqual([200])
})

test('a page of the server itself is served, over http and https, on a default port or another', async () => {
  const own = [
    { Host: 'shop.example', Origin: 'http://shop.example' },
    { Host: 'shop.example', Origin: 'https://shop.example' },
    { Host: 'SHOP.example:443', Origin: 'https://shop.example' },
    { Host: 'shop.example:80', Origin: 'http://shop.example' },
    { Host: 'shop.example:6543', Origin: 'http://shop.example:6543' },
    { Host: '[::1]:6543', Origin: 'http://[::1]:6543' },
    { Host: 'shop.example', Origin: 'http://shop.example', 'Sec-Fetch-Site': 'none' },
    { Host: 'shop.example', 'Sec-Fetch-Site': 'none' },
  ]
  expect(await statuses(own)).toEqual(all(200, own))
})

test('same-origin is enough by itself, because a proxy may rewrite Host', async () => {
  const own = [
    { Host: 'inner:6543', Origin: 'https://shop.example', 'Sec-Fetch-Site': 'same-origin' },
    { Host: 'inner:6543', 'Sec-Fetch-Site': 'same-origin' },
  ]
  expect(await statuses(own)).toEqual(all(200, own))
})

test('a page of another origin is refused, over plain http too', async () => {
  const foreign = [
    { Host: 'shop.example', Origin: 'https://evil.example' },
    { Host: 'shop.example', Origin: 'http://shop.example:8080' },
    { Host: 'shop.example:8080', Origin: 'http://shop.example' },
    { Host: 'shop.example:80', Origin: 'https://shop.example' },
    { Host: 'shop.example', Origin: 'null' },
    { Host: 'shop.example', Origin: '' },
    { Host: 'shop.example', Origin: 'shop.example' },
    { Host: 'shop.example', Origin: 'ftp://shop.example' },
    { Host: 'shop.example', 'Sec-Fetch-Site': 'cross-site' },
    { Host: 'shop.example', 'Sec-Fetch-Site': 'same-site' },
    { Host: 'shop.example', Origin: 'http://shop.example', 'Sec-Fetch-Site': 'same-site' },
    { Host: 'shop.example', Origin: 'https://evil.example', 'Sec-Fetch-Site': 'none' },
    { Host: 'shop.example', 'Sec-Fetch-Site': 'something-new' },
  ]
  expect(await statuses(foreign)).toEqual(all(403, foreign))
})
