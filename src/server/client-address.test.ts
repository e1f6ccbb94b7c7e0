import { expect, test } from 'bun:test'
import { atRoot, LOOPBACK } from '../../test/harness/loopback.ts'
import { addressKey } from './client-address.ts'
import { listen } from './listen.ts'

/** The client's address according to a server behind `proxies` proxies, for each value of `X-Forwarded-For`. */
async function addressesSeen(trustedProxies: number, forwarded: readonly (string | null)[]): Promise<string[]> {
  await using server = listen({
    ...LOOPBACK,
    trustedProxies,
    app: atRoot((_, scope) => new Response(`${scope.clientAddress} ${addressKey(scope.clientAddress)}`)),
  })
  const seen = forwarded.map(async value => {
    const headers: Record<string, string> = value === null ? {} : { 'X-Forwarded-For': value }
    return (await fetch(server.address, { headers })).text()
  })
  return await Promise.all(seen)
}

const SOCKET = '127.0.0.1 127.0.0.1'

test('without trusted proxies, the address is the socket’s, whatever the client says', async () => {
  expect(await addressesSeen(0, [null, '203.0.113.7', '203.0.113.7, 198.51.100.1'])).toEqual([SOCKET, SOCKET, SOCKET])
})

test('behind proxies, the address is counted from the right, where a client cannot forge it', async () => {
  const forwarded = ['203.0.113.7', '6.6.6.6, 203.0.113.7', '6.6.6.6,203.0.113.7,198.51.100.1']
  expect(await addressesSeen(1, forwarded)).toEqual([
    '203.0.113.7 203.0.113.7',
    '203.0.113.7 203.0.113.7',
    '198.51.100.1 198.51.100.1',
  ])
  expect(await addressesSeen(2, forwarded)).toEqual([
    '203.0.113.7 203.0.113.7',
    '6.6.6.6 6.6.6.6',
    '203.0.113.7 203.0.113.7',
  ])
})

test('behind proxies, a missing entry or one that is not an address leaves the socket’s', async () => {
  const forwarded = [null, '', ' , ', 'unknown', '_hidden', 'shop.example', '1.2.3', '1.2.3.4.5', '::g', '[::1', '<b>']
  expect(new Set(await addressesSeen(1, forwarded))).toEqual(new Set([SOCKET]))
})

test('behind more proxies than it passed, the address is the one that the outermost of them saw', async () => {
  expect(await addressesSeen(3, ['203.0.113.7', '203.0.113.7, 198.51.100.1', ' , 203.0.113.7'])).toEqual(
    Array(3).fill('203.0.113.7 203.0.113.7'),
  )
})

test('an address is read without its port, and as IPv4 if it is one', async () => {
  const forwarded = ['203.0.113.7:4711', '::ffff:203.0.113.7', '[::FFFF:203.0.113.7]:4711', ' 203.0.113.7 ']
  expect(new Set(await addressesSeen(1, forwarded))).toEqual(new Set(['203.0.113.7 203.0.113.7']))
})

test('IPv6 addresses of one /64 network are one client, and others are not', async () => {
  const [one, samePlace, written, other, short, host] = await addressesSeen(1, [
    '2001:db8:0:12::1',
    '2001:db8:0:12:ffff:ffff:ffff:ffff',
    '[2001:0DB8:0000:0012:0:0:0:1]:443',
    '2001:db8:0:13::1',
    '2001:db8::',
    '::1',
  ])
  expect(one).toBe('2001:db8:0:12::1 2001:db8:0:12::/64')
  expect(samePlace).toBe('2001:db8:0:12:ffff:ffff:ffff:ffff 2001:db8:0:12::/64')
  expect(written).toBe('2001:0db8:0000:0012:0:0:0:1 2001:db8:0:12::/64')
  expect(other).toBe('2001:db8:0:13::1 2001:db8:0:13::/64')
  expect(short).toBe('2001:db8:: 2001:db8:0:0::/64')
  expect(host).toBe('::1 0:0:0:0::/64')
})
