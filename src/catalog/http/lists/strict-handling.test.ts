import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { shelf } from '../../../../test/harness/catalog/resources.ts'
import { at, expectRefusal, type Fault, notDigits } from '../../../../test/harness/catalog/validation-errors.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'

setDefaultTimeout(120_000)

const STRICT = { Prefer: 'handling=strict' }
const APPLIED = 'Preference-Applied'
const unknown: Fault = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' }

const READS = [
  ...['/categories/', '/products/', '/users/', '/reviews/'],
  ...['/categories/1', '/products/1', '/users/1', '/reviews/1'],
  ...['/products/1/products', '/reviews/products/1', '/reviews/users/1', '/reviews/products/1/users/1'],
  '/ratings/products/1',
]

onOneEngine('strict handling', api => {
  beforeAll(() => shelf(api))

  test('every read refuses an unknown parameter if it is asked to be strict, and ignores it otherwise', async () => {
    for (const path of READS) {
      expectRefusal(await api.get(`${path}?colour=red`, STRICT), [at(['query', 'colour'], unknown)], path)
      const ignored = await api.get(`${path}?colour=red`)
      expect(ignored.status, path).toBe(200)
      expect(ignored.headers.get(APPLIED), path).toBeNull()
    }
  })

  test('a 200 of a strict read says so, and so does a 304, which a browser shows as a 200; no other answer does', async () => {
    for (const path of READS) {
      const answer = await api.get(path, STRICT)
      expect(answer.status, path).toBe(200)
      expect(answer.headers.get(APPLIED), path).toBe('handling=strict')
      expect(answer.body, path).toEqual((await api.get(path)).body)
      const known = await api.get(path, { ...STRICT, 'If-None-Match': '*' })
      expect([known.status, known.headers.get(APPLIED)], path).toEqual([304, 'handling=strict'])
      const head = await api.send(path, { method: 'HEAD', headers: STRICT })
      expect(head.headers.get(APPLIED), path).toBe('handling=strict')
    }
    for (const path of ['/products/4711', '/products/?colour=red', '/products/?sort=x']) {
      expect((await api.get(path, STRICT)).headers.get(APPLIED), path).toBeNull()
    }
    const lines = await api.get('/products/?sort=name', { ...STRICT, Accept: 'application/x-ndjson' })
    expect(lines.headers.get(APPLIED)).toBe('handling=strict')
  })

  test('each unknown parameter is named once, after all other errors, in the order sent', async () => {
    expectRefusal(await api.get('/products/?z=1&limit=x&%C3%A9=1&a=&z=2&count', STRICT), [
      at(['query', 'limit'], notDigits),
      at(['query', 'count'], notDigits),
      at(['query', 'z'], unknown),
      at(['query', 'é'], unknown),
      at(['query', 'a'], unknown),
    ])
    expectRefusal(await api.get('/products/x?z=1', STRICT), [
      at(['path', 'product_id'], notDigits),
      at(['query', 'z'], unknown),
    ])
    for (const name of ['toString', '__proto__', 'constructor']) {
      expectRefusal(await api.get(`/products/?${name}=1`, STRICT), [at(['query', name], unknown)])
    }
  })

  test('validation comes before a 404', async () => {
    expect((await api.get('/products/4711?z=1', STRICT)).status).toBe(422)
    expect((await api.get('/reviews/products/4711?z=1', STRICT)).status).toBe(422)
  })

  test('the preference is read as RFC 7240 writes it', async () => {
    for (const prefer of [
      'handling=strict',
      'Handling = "Strict"',
      'respond-async, handling=strict;wait=1',
      'wait=5 ,handling=strict',
    ]) {
      expect((await api.get('/products/?z=1', { Prefer: prefer })).status, prefer).toBe(422)
    }
    for (const prefer of [
      '',
      'strict',
      'handling',
      'handling=lenient',
      'handling=lenient, handling=strict',
      'handling=strictly',
      'x="a, handling=strict"',
    ]) {
      expect((await api.get('/products/?z=1', { Prefer: prefer })).status, prefer).toBe(200)
    }
  })

  test('a write takes no notice of it', async () => {
    const headers = { ...STRICT, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'Ladle', description: 'Of beech', price: 3 })
    const created = await api.send('/products/?z=1', { method: 'POST', headers, body })
    expect(created.status).toBe(200)
    expect(created.headers.get(APPLIED)).toBeNull()
  })
})
