import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readlinkSync, renameSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { fieldIn, itemsIn, visitor } from '../../../test/harness/catalog/admin-page.ts'
import { reviewedProduct } from '../../../test/harness/catalog/created.ts'
import { revokeKey, startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import { cookieOf } from '../../../test/harness/chat/login.ts'
import { client } from '../../../test/harness/client.ts'
import { ENGINES, type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startServer, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'
import { BODY_MAX_BYTES } from '../http/validation/request.ts'

setDefaultTimeout(120_000)

async function startShop(engine: Engine = sqlite, flags: readonly string[] = []) {
  const open = new AsyncDisposableStack()
  const { url } = open.use(await engine.freshDatabase())
  const service = open.use(await startService(url, { flags: ['--access-log', 'off', ...flags] }))
  const api = client(() => service.address)
  return { url, api, service, page: visitor(service), [Symbol.asyncDispose]: () => open.disposeAsync() }
}

test('people get a start page with counts, links and a line to copy, and programs the 404 of any other path', async () => {
  await using shop = await startShop()
  await shop.api.create('/products/', sample.product)
  const { status, headers, text } = await shop.page.open('/')
  expect({ status, type: headers.get('Content-Type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
  expect(text).toContain('<dt>product</dt><dd>1</dd>')
  expect(text).toContain('<dt>categories</dt><dd>0</dd>')
  expect(text).toContain('href="/docs"')
  expect(text).toContain('href="/admin/"')
  expect(text).toContain(`curl &#39;${shop.service.address}/products/?q=spade`)
  expect((await shop.api.get('/', { Accept: 'application/json, Text/HTML;q=0.1' })).status).toBe(200)
  const other = await shop.api.get('/nothing')
  const shown = (headers: Headers) => [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
  const accepting = ['application/json', 'text/*', 'text/html;q=0, */*'].map(type => ({ headers: { Accept: type } }))
  for (const request of [{}, ...accepting, { method: 'POST' }, { method: 'DELETE' }]) {
    const answer = await shop.api.send('/', request)
    // So that no cache gives people the 404 of a program.
    expect(answer.headers.get('Vary')).toBe('Accept')
    answer.headers.delete('Vary')
    expect({ ...answer, headers: shown(answer.headers) }).toEqual({ ...other, headers: shown(other.headers) })
  }
})

test('the address of a list leads to it without its last slash, too, with its filters', async () => {
  await using shop = await startShop()
  const lists = {
    '/admin': '/admin/',
    '/admin/products': '/admin/',
    '/admin/products?q=spade&sort=name': '/admin/?q=spade&sort=name',
    '/admin/users': '/admin/users/',
    '/admin/reviews': '/admin/reviews/',
  }
  for (const [path, list] of Object.entries(lists)) {
    const { status, headers } = await shop.page.open(path)
    expect([status, headers.get('Location')], path).toEqual([303, list])
  }
})

test('without the admin page there is no trace of it, and the start page stays', async () => {
  await using shop = await startShop(sqlite, ['--admin-page', 'off'])
  for (const path of ['/admin', '/admin/', '/admin/login', '/admin/users/']) {
    expect((await shop.page.open(path)).status, path).toBe(404)
  }
  expect((await shop.page.open('/')).text).not.toContain('/admin')
})

test('without a feed, no page offers what happens', async () => {
  await using shop = await startShop(sqlite, ['--events-kept', '0'])
  const { text } = await shop.page.open('/admin/')
  expect(text).toContain('/admin/import')
  expect(text).not.toContain('/admin/activity')
  // Without keys nobody logs in, so there is no log-out.
  expect(text).not.toContain('/admin/logout')
  expect((await shop.page.open('/admin/activity')).status).toBe(404)
})

test('without keys, only this machine by a name of its own opens the admin page, and others read how to make a key', async () => {
  await using shop = await startShop()
  const host = new URL(shop.service.address).host
  const refused = [
    { Host: 'shop.example' },
    { Host: 'localhost.example:8000' },
    { Host: '127.0.0.1.example' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { Forwarded: 'for=127.0.0.1' },
    { Via: '1.1 proxy' },
    { 'X-Real-IP': '127.0.0.1' },
  ]
  for (const headers of refused) {
    const { status, text } = await shop.page.open('/admin/', headers as unknown as Record<string, string>)
    expect(status, JSON.stringify(headers)).toBe(403)
    expect(text).toContain('stockroom key create')
  }
  for (const own of [host, 'localhost', 'localhost:80', '[::1]:8000', '127.1.2.3']) {
    expect((await shop.page.open('/admin/', { Host: own })).status, own).toBe(200)
  }
})

const OTHER_ADDRESS = Object.values(networkInterfaces())
  .flatMap(addresses => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

test.skipIf(OTHER_ADDRESS === undefined)(
  'without keys, a client from the network opens no admin page, whatever it calls the host',
  async () => {
    await using database = await sqlite.freshDatabase()
    const flags = ['--host', String(OTHER_ADDRESS), '--port', '0', '--database', database.url]
    await using service = await startServer(['serve', ...flags])
    for (const headers of [{}, { Host: 'localhost' }, { Host: '127.0.0.1' }] as Record<string, string>[]) {
      const { status, text } = await visitor(service).open('/admin/', headers)
      expect(status, JSON.stringify(headers)).toBe(403)
      expect(text).toContain('stockroom key create')
    }
  },
)

test('every page forbids inline scripts and anything from another origin, and nothing on the way may keep it', async () => {
  await using shop = await startShop()
  for (const path of ['/', '/admin/', '/admin/products/new', '/admin/facets']) {
    const { headers } = await shop.page.open(path)
    expect(headers.get('Content-Security-Policy'), path).toStartWith("default-src 'self'; img-src 'self' data:; ")
    expect(headers.get('Cache-Control'), path).toBe('no-store')
    expect(headers.get('Vary'), path).toContain('Accept')
  }
})

test('a request that a page of another origin has made is 403, and changes nothing', async () => {
  await using shop = await startShop()
  const id = await shop.api.create('/products/', sample.product)
  const [item = ''] = itemsIn(await shop.page.open('/admin/'))
  const foreign = [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'null' }]
  for (const headers of foreign as Record<string, string>[]) {
    const elsewhere = visitor(shop.service, headers)
    expect((await elsewhere.open('/admin/')).status, JSON.stringify(headers)).toBe(403)
    expect((await elsewhere.send('/admin/deletions', { item, confirmed: 'yes' })).status).toBe(403)
    expect((await elsewhere.send(`/admin/products/${id}`, { name: 'Theirs', price: '1' })).status).toBe(403)
  }
  expect((await shop.api.get(`/products/${id}`)).body).toMatchObject(sample.product)
  const followed = visitor(shop.service, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-User': '?1' })
  const leads = {
    [`/admin/products/${id}`]: `/admin/products/${id}`,
    '/admin/?q=%22spade&max_price=9': '/admin/?q=%22spade&amp;max_price=9',
    '/admin/deletions': '/admin/',
    '/admin/export/products.csv': '/admin/',
  }
  for (const [path, page] of Object.entries(leads)) {
    const { status, text } = await followed.open(path)
    expect({ path, status }).toEqual({ path, status: 403 })
    expect(text).toContain(`href="${page}"`)
    expect(text).toContain(`<meta http-equiv="refresh" content="0; url=${page}"/>`)
  }
  // Not by itself if nobody has clicked, or if it was a form.
  const led = await visitor(shop.service, { 'Sec-Fetch-Site': 'cross-site' }).open(`/admin/products/${id}`)
  expect(led.text).toContain(`href="/admin/products/${id}"`)
  expect(led.text).not.toContain('refresh')
  const sent = await followed.send(`/admin/products/${id}`, { name: 'Theirs', price: '1' })
  expect(sent.text).toContain(`href="/admin/products/${id}"`)
  expect(sent.text).not.toContain('refresh')
})

test('with keys, a key that may write logs in, one with the scope admin also sees users, and a revoked one ends it', async () => {
  await using shop = await startKeyedShop(sqlite, ['--access-log', 'off'])
  const userId = await shop.api.admin.create('/users/', sample.user)
  const anyone = visitor(shop.service)
  const led = await anyone.open('/admin/reviews/')
  expect(led).toMatchObject({ status: 303 })
  expect(led.headers.get('Location')).toBe('/admin/login?next=%2Fadmin%2Freviews%2F')
  const filtered = (await anyone.open('/admin/?q=spade&sort=price')).headers.get('Location')
  expect(filtered).toBe(`/admin/login?next=${encodeURIComponent('/admin/?q=spade&sort=price')}`)
  // The link that skips the navigation has left its mark in the address.
  const scripted = { 'HX-Request': 'true', 'HX-Current-URL': `${shop.service.address}/admin/users/#content` }
  const ended = await anyone.open('/admin/users/?q=ada', scripted)
  expect(ended.headers.get('HX-Redirect')).toBe(
    `/admin/login?ended&next=${encodeURIComponent('/admin/users/#content')}`,
  )
  const late = await anyone.send('/admin/deletions', { item: 'products/1 "a.b"' })
  expect(late.headers.get('Location')).toBe('/admin/login?ended&next=%2Fadmin%2F')
  expect((await anyone.open('/')).text).not.toContain('<dd>')
  const logIn = (password: string) => anyone.send('/admin/login', { password, next: '/admin/' })
  expect((await logIn(shop.keys.read)).text).toContain('not an access key with the scope write')
  // With the blank that was copied along.
  const begun = await logIn(`${shop.keys.write} `)
  expect(begun.headers.get('Set-Cookie')).toMatch(
    /^stockroom-admin=key-\S+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  const writer = visitor(shop.service, cookieOf(new Response(null, { headers: begun.headers })))
  const page = await writer.open('/admin/')
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('/admin/users/')
  expect((await writer.open('/admin/import')).text).not.toContain('users')
  for (const path of ['/admin/users/', `/admin/users/${userId}`, '/admin/export/users.csv']) {
    const { status, text } = await writer.open(path)
    expect({ path, status }).toEqual({ path, status: 403 })
    expect(text).not.toContain(sample.user.email)
  }
  const ofUser = { item: `users/${userId} "a.b"`, confirmed: 'yes' }
  expect((await writer.send('/admin/deletions', ofUser)).status).toBe(403)
  // Not even their names, which the question without scripts has.
  expect((await writer.send('/admin/deletions', { item: ofUser.item })).status).toBe(403)
  const users = { method: 'POST', body: JSON.stringify({ ...sample.user, is_admin: 1 }) }
  const headers = cookieOf(new Response(null, { headers: begun.headers }))
  const imported = await shop.api.without.send('/admin/import?list=users&format=ndjson', { ...users, headers })
  expect(imported.status).toBe(403)
  expect((await shop.api.admin.get('/users/')).body).toHaveLength(1)
  const made = { tag: crypto.randomUUID(), name: 'Hoe', price: '9', description: '', category: '' }
  expect((await writer.send('/admin/products/new', made)).headers.get('Location')).toBe('/admin/products/1?created')
  // The session is for the pages alone.
  expect((await writer.open('/products/')).status).toBe(401)
  const admin = await logIn(shop.keys.admin)
  const owner = visitor(shop.service, cookieOf(new Response(null, { headers: admin.headers })))
  expect((await owner.open('/admin/users/')).text).toContain(sample.user.email)
  await revokeKey(shop.url, 'writer')
  await until(async () => (await writer.open('/admin/')).status === 303)
})

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    test('lists are selected by the address, a form saves, and of two changes the second shows both versions', async () => {
      await using shop = await startShop(engine)
      const { api, page } = shop
      const { productId } = await reviewedProduct(api, 2)
      const garden = await api.create('/categories/', sample.category)
      await api.create(`/products/${garden}/products`, { ...sample.product, name: 'مجرفة <b>', price: 7 })
      expect((await page.open('/admin/?q=spade')).text).toContain('1 product<')
      expect((await page.open('/admin/?max_price=8&category_id=')).text).toContain('مجرفة &lt;b&gt;')
      expect((await page.open('/admin/?q=&min_price=x')).text).toContain('valid number')
      expect((await page.open(`/admin/?category_id=${garden}`)).text).not.toContain('Spade')
      expect(itemsIn(await page.open('/admin/reviews/?rating=4'))).toHaveLength(2)
      expect(itemsIn(await page.open('/admin/reviews/?rating=1,2'))).toHaveLength(0)
      for (const id of ['x', '0', '-1', '1.5', '1e400', '9007199254740993']) {
        for (const path of [`/admin/products/${id}`, `/admin/products/${id}/row`, `/admin/reviews/${id}`]) {
          const { status, text } = await page.open(path)
          expect({ path, status }).toEqual({ path, status: 404 })
          expect(text).toContain('<p>There is no such')
        }
      }
      // A script shows it in its own page.
      const { text } = await page.open('/admin/categories/x', { 'HX-Request': 'true' })
      expect(JSON.parse(text)).toEqual({ detail: 'There is no such category, or no longer' })
      const form = await page.open(`/admin/products/${productId}`)
      expect(form.text).toContain('2 reviews<')
      const mine = { tag: fieldIn(form, 'tag'), name: 'Mine', price: '12,5', description: 'Two\r\nlines' }
      expect((await page.send(`/admin/products/${productId}`, mine)).status).toBe(303)
      const saved = { name: 'Mine', price: 12.5, description: 'Two\nlines' }
      expect((await api.get(`/products/${productId}`)).body).toMatchObject(saved)
      const late = await page.send(`/admin/products/${productId}`, { ...mine, name: 'Late' })
      expect(late.status).toBe(412)
      expect(late.text).toContain('<td dir="auto">Mine</td><td dir="auto">Late</td>')
      expect((await api.get(`/products/${productId}`)).body).toMatchObject(saved)
      const again = { ...mine, name: 'Late', tag: fieldIn(late, 'tag') }
      expect((await page.send(`/admin/products/${productId}`, again)).status).toBe(303)
      expect((await api.get(`/products/${productId}`)).body).toMatchObject({ name: 'Late' })
      const wrong = await page.send(`/admin/products/${productId}`, { ...mine, name: 'X', price: '-1' })
      expect(wrong.status).toBe(422)
      expect(wrong.text).toContain('Should have at least 3 characters')
      expect(wrong.text).toContain('Should be greater than 0')
      // Corrected, it must not replace what was saved meanwhile.
      expect(fieldIn(wrong, 'tag')).toBe(mine.tag)
      const { tag: _, ...untagged } = { ...mine, name: 'Unseen' }
      expect((await page.send(`/admin/products/${productId}`, untagged)).status).toBe(412)
      expect((await api.get(`/products/${productId}`)).body).toMatchObject({ name: 'Late' })
      const unnamed = { tag: crypto.randomUUID(), name: 'X', price: '1', description: '', category: String(garden) }
      const refused = await page.send('/admin/products/new', unnamed)
      expect([refused.status, fieldIn(refused, 'tag')]).toEqual([422, unnamed.tag])
      expect(refused.text).toContain(`<option value="${garden}" selected="">`)
    })

    test('without scripts, a deletion asks first, and what somebody else has changed since is kept', async () => {
      await using shop = await startShop(engine)
      const { api, page } = shop
      const ids = [await api.create('/products/', sample.product), await api.create('/products/', sample.product)]
      const item = itemsIn(await page.open('/admin/'))
      const asked = await page.send('/admin/deletions', { item })
      expect(asked.status).toBe(200)
      expect(asked.text).toContain('Delete these 2 for good?')
      expect((await api.get(`/products/${ids[0]}`)).status).toBe(200)
      await api.put(`/products/${ids[1]}`, { ...sample.product, name: 'Changed' })
      const done = await page.send('/admin/deletions', { item: [...item, 'nonsense/1 "a.b"'], confirmed: 'yes' })
      expect(done.headers.get('Location')).toBe('/admin/?deleted=1&kept=1')
      expect((await page.open('/admin/?deleted=1&kept=1')).text).toContain('1 deleted. 1 not: ')
      expect((await page.open('/admin/?deleted=nonsense')).text).not.toContain('deleted.')
      expect((await api.get(`/products/${ids[0]}`)).status).toBe(404)
      expect((await api.get(`/products/${ids[1]}`)).status).toBe(200)
      // The button of one item counts alone, whatever is selected. What is gone already counts as deleted.
      const one = await page.send('/admin/deletions', { only: item[1] ?? '', item })
      expect(one.text).toContain('Delete this for good?')
      const gone = await page.send('/admin/deletions', { item: item[1] ?? '', confirmed: 'yes' })
      expect(gone.headers.get('Location')).toBe('/admin/?deleted=1&kept=0')
      expect((await page.send('/admin/deletions', { item: 'nonsense' })).headers.get('Location')).toBe('/admin/')
      // With scripts, the page gets what became of each.
      const sent = new URLSearchParams({ confirmed: 'yes', item: item[0] ?? '' })
      expect((await api.send('/admin/deletions', { method: 'POST', body: sent })).body).toMatchObject([
        { reason: 'Somebody has changed it since; look at it again' },
      ])
    })

    test('a file is imported as a whole or not at all, with the number and reason of each wrong line, and exported again', async () => {
      await using shop = await startShop(engine)
      const { api } = shop
      const post = (list: string, format: string, body: string) =>
        api.send(`/admin/import?list=${list}&format=${format}`, { method: 'POST', body })
      const csv = 'name;price;colour\nSpade;12,5;red\nX;3;\n"Rake ""R""";0;\n'
      const wrong = String((await post('products', 'csv', csv.replace('price', 'price;description'))).body)
      expect(wrong).toContain('Nothing was imported')
      for (const line of ['Line 3', 'Line 4']) expect(wrong).toContain(line)
      expect(String((await post('products', 'csv', csv)).body)).toContain('lacks description')
      const review = JSON.stringify(sample.review(1, 1))
      expect(String((await post('reviews', 'ndjson', `${review}\n{}\n`)).body)).toMatch(
        /Line 1.*Product not found.*Line 2/,
      )
      expect((await api.get('/products/')).body).toEqual([])
      const users = [sample.user, { ...sample.user, name: 'Grace, "the" one' }].map(user => JSON.stringify(user))
      const imported = String((await post('users', 'ndjson', users.join('\n'))).body)
      expect(imported).toStartWith('{"stored":2,"of":2}\n')
      expect(imported).toContain('2 lines imported')
      const { body, headers } = await api.get('/admin/export/users.csv')
      expect(headers.get('Content-Disposition')).toBe('attachment; filename="users.csv"')
      expect(headers.get('Content-Type')).toBe('text/csv; charset=utf-8')
      expect(headers.get('Cache-Control')).toBe('no-store')
      expect(String(body)).toStartWith('id,name,email,avatar,password,')
      expect(String(body)).toContain('\n2,"Grace, ""the"" one",ada@mail.example,/ada.png,**********,1,0,')
      const form = new FormData()
      form.append('list', 'products')
      form.append('file', new File(['name,description,price\nHoe,Steel,9\n'], 'PRODUCTS.CSV'))
      const page = await api.send('/admin/import', { method: 'POST', body: form })
      expect(String(page.body)).toContain('1 line imported')
      form.set('file', new File(['name,description,price\nHoe,Steel,0\n'], 'products.csv'))
      expect((await api.send('/admin/import', { method: 'POST', body: form })).status).toBe(422)
      expect((await api.get('/admin/export/products.ndjson')).body).toMatch(
        /^\{"id":\d+,"name":"Hoe","description":"Steel","price":9,"category_id":null\}\n$/,
      )
      // More than a page of a list may have.
      const many = `${JSON.stringify(sample.category)}\n`.repeat(1_001)
      expect(String((await post('categories', 'ndjson', many)).body)).toContain('1,001 lines imported')
      const exported = String((await api.get('/admin/export/categories.csv')).body)
      expect(exported.trimEnd().split('\n')).toHaveLength(1 + 1_001)
    })
  })
}

test('a file without lines or without text is refused with one reason', async () => {
  await using shop = await startShop()
  const post = async (format: string, body: string | Uint8Array<ArrayBuffer>) => {
    const { body: html } = await shop.api.send(`/admin/import?list=products&format=${format}`, { method: 'POST', body })
    return String(html)
  }
  const header = 'name,description,price\n'
  for (const [format, body] of [
    ['ndjson', ''],
    ['ndjson', '\n\n'],
    ['csv', ''],
    ['csv', header],
  ] as const) {
    expect(await post(format, body)).toContain('Nothing was imported: the file is empty: it has no lines to import.')
  }
  const picture = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  for (const body of [Buffer.from(`\ufeff${header}`, 'utf16le'), picture]) {
    for (const format of ['csv', 'ndjson']) {
      expect(await post(format, body)).toContain('Nothing was imported: neither CSV nor NDJSON in UTF-8; save a spread')
    }
  }
  expect(await post('ndjson', '[{"name":"Spade"}]')).toContain('Nothing was imported: a JSON array, and NDJSON has one')
})

test('a file of wrong lines is read to its end before the answer, which no browser reads before', async () => {
  await using shop = await startShop()
  const CHUNKS = 200
  let pulled = 0
  const body = new ReadableStream<Uint8Array>({
    pull: stream => {
      pulled += 1
      stream.enqueue(Buffer.alloc(65_536, pulled === 1 ? '{}\n' : '\n'))
      if (pulled === CHUNKS) stream.close()
    },
  })
  const refused = await shop.api.send('/admin/import?list=products&format=ndjson', { method: 'POST', body })
  expect(String(refused.body)).toContain('Nothing was imported, because these lines are wrong:')
  expect(pulled).toBe(CHUNKS)
})

test('a form for a file that is none, or has none, is refused', async () => {
  await using shop = await startShop()
  for (const [type, body] of [
    ['multipart/form-data', 'name'],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="list"\r\n\r\nusers\r\n--x--\r\n'],
  ] as const) {
    const { status, body: answer } = await shop.api.send('/admin/import', {
      method: 'POST',
      headers: { 'Content-Type': type },
      body,
    })
    expect({ status, answer }).toEqual({ status: 422, answer: { detail: 'Choose a file' } })
  }
})

test('an import without a place for its rows is refused, and the log says why', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { environment: { TMPDIR: '/nowhere' } })
  const api = client(() => service.address)
  const body = `${JSON.stringify(sample.product)}\n`
  const refused = await api.send('/admin/import?list=products&format=ndjson', { method: 'POST', body })
  expect(String(refused.body)).toContain('The server has no place for the file on its disk')
  expect((await api.get('/products/')).body).toEqual([])
  expect(await service.stop()).toBe(0)
  expect(service.errors()).toContain('there is no place for its rows: ENOENT')
})

test.skipIf(process.platform !== 'linux')('an import whose process is killed leaves nothing on the disk', async () => {
  using folder = temporaryFolder()
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { environment: { TMPDIR: folder.path } })
  const body = new ReadableStream<string>({ start: stream => stream.enqueue(`${JSON.stringify(sample.product)}\n`) })
  const url = `${service.address}/admin/import?list=products&format=ndjson`
  const sending = fetch(url, { method: 'POST', body }).catch(() => null)
  const descriptors = `/proc/${service.processId}/fd`
  const hasRows = (descriptor: string) => {
    try {
      const path = join(descriptors, descriptor)
      return readlinkSync(path).includes('rows.ndjson') && statSync(path).size > 0
    } catch {
      // It was closed meanwhile.
      return false
    }
  }
  await until(() => readdirSync(descriptors).some(hasRows))
  await service.stop('SIGKILL')
  expect(await sending).toBeNull()
  expect(readdirSync(folder.path)).toEqual([])
})

test('a text of many line breaks is imported, although it takes more bytes as JSON than a line of NDJSON may have', async () => {
  await using shop = await startShop()
  const description = '\n'.repeat(700_000)
  const body = `name,price,description\nSpade,3,"${description}"\nRake,4,short\n`
  const imported = await shop.api.send('/admin/import?list=products&format=csv', { method: 'POST', body })
  expect(String(imported.body)).toContain('2 lines imported')
  expect((await shop.api.get('/products/?fields=name,description')).body).toEqual([
    { name: 'Spade', description },
    { name: 'Rake', description: 'short' },
  ])
})

test('new things are created once, even if their form is sent twice', async () => {
  await using shop = await startShop()
  const { api, page } = shop
  const category = await api.create('/categories/', sample.category)
  const tag = fieldIn(await page.open('/admin/products/new'), 'tag')
  const fields = { tag, name: 'Hoe', price: '9', description: '', category: String(category) }
  const first = await page.send('/admin/products/new', fields)
  expect(first.headers.get('Location')).toBe('/admin/products/1?created')
  expect((await page.send('/admin/products/new', fields)).headers.get('Location')).toBe('/admin/products/1?created')
  expect((await api.get(`/products/${category}/products`)).body).toHaveLength(1)
  const nowhere = await page.send('/admin/products/new', { ...fields, tag: crypto.randomUUID(), category: '%' })
  expect(nowhere.status).toBe(422)
  const user = {
    tag: crypto.randomUUID(),
    name: 'Ada',
    email: 'a@b.example',
    avatar: '',
    password: 'x',
    is_active: 'on',
  }
  expect((await page.open('/admin/users/new')).text).toContain('name="is_active" value="on" checked=""')
  expect((await page.send('/admin/users/new', user)).status).toBe(303)
  const form = await page.open('/admin/users/1')
  expect(fieldIn(form, 'password')).toBe('')
  const passwordHash = () => sqlite.read(shop.url, 'SELECT password_hash FROM users')
  const before = await passwordHash()
  const { password: _, is_active: __, ...others } = user
  const kept = { ...others, password: '', tag: fieldIn(form, 'tag'), is_banned: 'on' }
  await page.send('/admin/users/1', kept)
  expect((await api.get('/users/1')).body).toMatchObject({ is_active: 0, is_banned: 1, is_admin: 0 })
  expect(await passwordHash()).toEqual(before)
  // The two versions do not show a password.
  const late = await page.send('/admin/users/1', { ...kept, name: 'Grace', password: 'another' })
  expect(late.text).toContain('<td dir="auto">Ada</td><td dir="auto">Grace</td>')
  expect(late.text).not.toContain('<td dir="auto">another</td>')
})

test('of two who edit a row, the second is shown what the first has saved, and replaces it only when saving again', async () => {
  await using shop = await startShop()
  const { api, page } = shop
  const id = await api.create('/products/', sample.product)
  const row = `/admin/products/${id}/row`
  const tag = fieldIn(await page.open(`${row}?edit`), 'tag')
  await api.put(`/products/${id}`, { ...sample.product, name: 'Theirs', price: 5 })
  // A refused form keeps its tag: its user has not seen the new version yet.
  const wrong = await page.send(row, { tag, name: 'X', price: '7' })
  expect([wrong.status, fieldIn(wrong, 'tag')]).toEqual([422, tag])
  expect(wrong.text).toContain('Should have at least 3 characters')
  const late = await page.send(row, { tag, name: 'Mine', price: '7' })
  expect(late.status).toBe(412)
  expect(late.text).toContain('Somebody has changed it to “Theirs”, 5.00.')
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: 'Theirs', price: 5 })
  const again = await page.send(row, { tag: fieldIn(late, 'tag'), name: 'Mine', price: '7' })
  expect([again.status, again.headers.get('Location')]).toEqual([303, '/admin/'])
  const { description } = sample.product
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: 'Mine', price: 7, description })
})

test('a flag that is not changed keeps its number', async () => {
  await using shop = await startShop()
  const { password: _, ...user } = sample.user
  const id = await shop.api.create('/users/', { ...sample.user, is_verified: 7, is_banned: 2 })
  const tag = fieldIn(await shop.page.open(`/admin/users/${id}`), 'tag')
  const sent = { tag, name: user.name, email: user.email, avatar: user.avatar, password: '', is_verified: 'on' }
  expect((await shop.page.send(`/admin/users/${id}`, sent)).status).toBe(303)
  expect((await shop.api.get(`/users/${id}`)).body).toMatchObject({ is_verified: 7, is_banned: 0 })
})

test('a form that is corrected after its answer was lost says that the thing may exist, and creates it if it is sent again', async () => {
  await using shop = await startShop()
  const { api, page } = shop
  const tag = fieldIn(await page.open('/admin/products/new'), 'tag')
  const fields = { tag, name: 'Hoe', price: '9', description: '', category: '' }
  await page.send('/admin/products/new', fields)
  const corrected = await page.send('/admin/products/new', { ...fields, price: '8' })
  expect(corrected.status).toBe(422)
  expect(corrected.text).toContain('An earlier version of this form was already sent and stored.')
  expect((await api.get('/products/')).body).toHaveLength(1)
  const again = { ...fields, price: '8', tag: fieldIn(corrected, 'tag') }
  expect((await page.send('/admin/products/new', again)).headers.get('Location')).toBe('/admin/products/2?created')
})

test('a price whose comma may stand for thousands is refused, and any other comma is a point', async () => {
  await using shop = await startShop()
  const { api, page } = shop
  const send = (price: string) =>
    page.send('/admin/products/new', { name: 'Hoe', description: '', category: '', price })
  for (const price of ['1,250', ' 999,999 ', '1,250.50', '1,250,000']) {
    const { status, text } = await send(price)
    expect(status, price).toBe(422)
    expect(text).toContain('Should be a valid number')
  }
  for (const price of ['12,5', '1250,50', '0,125', '1250.5']) expect((await send(price)).status, price).toBe(303)
  expect((await api.get('/products/?fields=price')).body).toEqual(
    [12.5, 1250.5, 0.125, 1250.5].map(price => ({ price })),
  )
  // A form that is only saved again changes none of them.
  for (const [id, price] of [
    [2, '1250.50'],
    [3, '0.125'],
  ] as const)
    expect(fieldIn(await page.open(`/admin/products/${id}`), 'price')).toBe(price)
})

test('line breaks that a field cannot show stay when another field is saved, and are no difference between two versions', async () => {
  await using shop = await startShop()
  const { api, page } = shop
  await api.create('/categories/', { name: 'Two\nlines', description: 'And\r\ntwo' })
  await api.create('/products/', { name: 'Two\nlines', description: 'a\r\nb\rc\n', price: 1 })
  // Browsers drop the first line break of a text area.
  const blank = await api.create('/products/', { ...sample.product, description: '\nb' })
  expect((await page.open(`/admin/products/${blank}`)).text).toContain('dir="auto">\n\nb</textarea>')
  const category = { tag: fieldIn(await page.open('/admin/categories/1'), 'tag'), name: 'Twolines' }
  expect((await page.send('/admin/categories/1', { ...category, description: 'Changed' })).status).toBe(303)
  expect((await api.get('/categories/1')).body).toMatchObject({ name: 'Two\nlines', description: 'Changed' })
  const product = { tag: fieldIn(await page.open('/admin/products/1'), 'tag'), name: 'One' }
  expect((await page.send('/admin/products/1', { ...product, description: 'a\nb\nc\n', price: '2' })).status).toBe(303)
  expect((await api.get('/products/1')).body).toMatchObject({ name: 'One', description: 'a\r\nb\rc\n', price: 2 })
  const late = await page.send('/admin/products/1', { ...product, description: 'a\nb\nc\n', price: '3' })
  expect(late.text).toContain('<th scope="row">Price</th>')
  expect(late.text).not.toContain('<th scope="row">Description</th>')
})

test('a text of any script that is as long as the API takes can be saved', async () => {
  await using shop = await startShop()
  const { name, price } = sample.product
  const body = { name, price, description: '' }
  const length = Math.floor((BODY_MAX_BYTES - JSON.stringify(body).length) / Buffer.byteLength('字'))
  const id = await shop.api.create('/products/', { ...body, description: '字'.repeat(length) })
  const tag = fieldIn(await shop.page.open(`/admin/products/${id}`), 'tag')
  const description = '町'.repeat(length)
  const saved = await shop.page.send(`/admin/products/${id}`, { tag, name, price: String(price), description })
  expect(saved.status).toBe(303)
  expect((await shop.api.get(`/products/${id}`)).body).toMatchObject({ name, price, description })
  const longer = await shop.page.send(`/admin/products/${id}`, { tag, unknown: 'x'.repeat(3 * BODY_MAX_BYTES + 4_096) })
  expect(longer.status).toBe(413)
})

test('without an order, the best matches come first, and the newest if no word is sought', async () => {
  await using shop = await startShop()
  for (const name of ['Spade', 'Big spade', 'Rake']) await shop.api.create('/products/', { ...sample.product, name })
  const names = async (query: string) => {
    const page = await shop.page.open(`/admin/${query}`)
    expect(page.text).toMatch(/<select name="sort"><option value=""[^>]*>Relevance</)
    return [...page.text.matchAll(/<tr [^>]*data-name="([^"]*)"/g)].map(([, name]) => name)
  }
  expect(await names('?q=spade&sort=')).toEqual(['Spade', 'Big spade'])
  for (const query of ['', '?q=&sort=', '?q=-']) expect(await names(query)).toEqual(['Rake', 'Big spade', 'Spade'])
})

test('a page of a list that has nothing to show does not say that the store is empty', async () => {
  await using shop = await startShop()
  await reviewedProduct(shop.api, 1)
  for (const path of ['/admin/', '/admin/categories/', '/admin/users/', '/admin/reviews/', '/admin/products/1']) {
    const { text } = await shop.page.open(`${path}?sort=nonsense`)
    expect(text, path).toContain(`Nothing matches. <a href="${path}">Show all</a>`)
    expect(text, path).not.toMatch(/ (has|are) no /)
  }
  expect((await shop.page.open('/admin/?skip=1')).text).toContain('Nothing matches.')
  await shop.api.send('/products/1', { method: 'DELETE' })
  expect((await shop.page.open('/admin/?skip=1')).text).toContain('The store has no products yet.')
})

test('a long comment is cut between two characters', async () => {
  await using shop = await startShop()
  const { productId, userId } = await reviewedProduct(shop.api, 0)
  const comment = `${'x'.repeat(119)}😀${'x'.repeat(378)}😀${'x'.repeat(9)}`
  await shop.api.create('/reviews/', { product_id: productId, user_id: userId, rating: 1, comment })
  const list = await shop.page.open('/admin/reviews/')
  expect(list.text).toContain(`😀${'x'.repeat(378)}…`)
  const asked = await shop.page.send('/admin/deletions', { item: itemsIn(list) })
  expect(asked.text).toContain(`★ 1: ${'x'.repeat(119)}</li>`)
})

test('each number of stars can be chosen besides the others, and chosen again it is no longer', async () => {
  await using shop = await startShop()
  const chips = async (query: string) => {
    const { text } = await shop.page.open(`/admin/reviews/${query}`)
    return [...text.matchAll(/id="stars-[1-5]" href="([^"]*)"/g)].map(([, path]) =>
      path?.replace('/admin/reviews/', ''),
    )
  }
  expect(await chips('')).toEqual(['?rating=1', '?rating=2', '?rating=3', '?rating=4', '?rating=5'])
  expect(await chips('?rating=4,1')).toEqual([
    '?rating=4',
    '?rating=1,2,4',
    '?rating=1,3,4',
    '?rating=1',
    '?rating=1,4,5',
  ])
  expect((await chips('?rating=5'))[4]).toBe('')
})

test('a list shows every review, even if their texts together are too long to be read at once', async () => {
  await using shop = await startShop()
  const { productId, userId } = await reviewedProduct(shop.api, 0)
  const comment = 'x'.repeat(900_000)
  for (const rating of [1, 2, 3]) {
    await shop.api.create('/reviews/', { product_id: productId, user_id: userId, rating, comment })
  }
  const item = itemsIn(await shop.page.open('/admin/reviews/'))
  expect(item).toHaveLength(3)
  const asked = await shop.page.send('/admin/deletions', { item })
  for (const stars of [1, 2, 3]) expect(asked.text).toContain(`<li dir="auto">★ ${stars}: x`)
})

test('beside the list, the band of prices that was chosen is marked, and chosen again it is no longer', async () => {
  await using shop = await startShop()
  for (const price of [5, 15]) await shop.api.create('/products/', { ...sample.product, price })
  const chosen = async (query: string) => {
    const { text } = await shop.page.open(`/admin/facets${query}`)
    return [...text.matchAll(/<a href="([^"]*)" aria-current="true"/g)].map(([, path]) => path)
  }
  expect(await chosen('')).toEqual([])
  expect(await chosen('?min_price=10&below_price=25')).toEqual(['/admin/?'])
  expect(await chosen('?below_price=10&sort=name')).toEqual(['/admin/?sort=name'])
  expect(await chosen('?min_price=&below_price=10')).toEqual(['/admin/?'])
  // The place in the list was one of another list.
  expect(await chosen('?below_price=10&cursor=x')).toEqual(['/admin/?'])
  // A band without products is not offered, but what is chosen can be given up.
  expect(await chosen('?min_price=25&below_price=50')).toEqual(['/admin/?'])
  const { text } = await shop.page.open('/admin/facets?max_price=20')
  const bands = [...text.matchAll(/href="([^"]*(?:min|below)_price=[^"]*)"/g)].map(([, path]) => path)
  expect(bands).toEqual(['/admin/?below_price=10', '/admin/?min_price=10&amp;below_price=25'])
  expect(await shop.page.open('/admin/facets?min_price=x')).toMatchObject({ status: 200, text: '' })
})

test('the categories that an address names are chosen, also several or one that is not there', async () => {
  await using shop = await startShop()
  const create = (name: string) => shop.api.create('/categories/', { ...sample.category, name })
  const [garden, tools] = [await create('Garden'), await create('Tools & more')]
  const chosen = async (query: string) =>
    /name="category_id">.*?<option value="([^"]*)" selected="">([^<]*)</
      .exec((await shop.page.open(`/admin/?${query}`)).text)
      ?.slice(1)
  expect(await chosen('')).toEqual(['', 'All'])
  expect(await chosen(`category_id=${tools}`)).toEqual([String(tools), 'Tools &amp; more'])
  const several = [`${garden},${tools},0`, 'Garden, Tools &amp; more, Without a category']
  expect(await chosen(`category_id=${garden},${tools},0`)).toEqual(several)
  expect(await chosen(`category_id=${garden}&category_id=${tools}&category_id=0`)).toEqual(several)
  expect(await chosen('category_id=77')).toEqual(['77', 'Category 77'])
})

test('the first visit takes less than 60 kB, files included, and counts no more than 10,000 products', async () => {
  await using shop = await startShop()
  const line = (place: number) =>
    JSON.stringify({ ...sample.product, name: `Spade ${place}`, price: 1 + (place % 900) })
  const lines = Array.from({ length: 10_001 }, (_, place) => line(place)).join('\n')
  await shop.api.send('/admin/import?list=products&format=ndjson', { method: 'POST', body: lines })
  const size = async (path: string) => {
    const response = await fetch(shop.service.address + path, {
      headers: { Accept: 'text/html', 'Accept-Encoding': 'gzip, br, zstd' },
      decompress: false,
    })
    return (await response.arrayBuffer()).byteLength
  }
  const page = await shop.page.open('/admin/')
  expect(page.text).toContain('10,000+ products')
  const files = [...page.text.matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(files.length).toBeGreaterThan(4)
  const sizes = await Promise.all(['/admin/', ...files].map(size))
  expect(sizes.reduce((sum, bytes) => sum + bytes)).toBeLessThan(60_000)
})

test('an activity page gets what has changed since it was made, or since it has lost its connection', async () => {
  await using shop = await startShop()
  const create = (name: string) => shop.api.create('/products/', { ...sample.product, name })
  for (const name of ['Seen', 'Missed', 'Missed, too']) await create(name)
  const path = `${shop.service.address}/admin/activity/events`
  // A browser that connects again sends the id to the address that it had.
  const text = await changesAfter(`${path}?since=start`, await changeOf(shop.service.address, 'Seen'), '>Missed, too<')
  expect(text).toContain('>Missed</a> 34.5')
  expect(text).toContain(`\nid: ${await changeOf(shop.service.address, 'Missed')}\n`)
  expect(text).not.toContain('>Seen<')
  // Nothing has changed yet.
  const [, from] = /sse-connect="([^"]+)"/.exec((await shop.page.open('/admin/activity')).text) ?? []
  await shop.api.create('/reviews/', sample.review(1, await shop.api.create('/users/', sample.user)))
  await create('Last')
  const since = await changesAfter(shop.service.address + from, null, '>Last<')
  expect(since).not.toContain('>Missed')
  expect(since).toContain('>review 1</a> ★ 4<')
  // A deleted product has no page to link to.
  await shop.api.send('/products/4', { method: 'DELETE' })
  const gone = await changesAfter(path, await changeOf(shop.service.address, 'Last'), 'product deleted')
  expect(gone).not.toContain('/admin/products/4')
  // Of another database, as after a restored backup.
  await changesAfter(path, '9.unknown', 'Changes before this one may be missing.')
})

test('an activity page that finds no database is logged like any other request, without a stack', async () => {
  await using shop = await startShop()
  const file = shop.url.slice('sqlite:'.length)
  renameSync(file, `${file}.away`)
  const stream = changesAfter(`${shop.service.address}/admin/activity/events?since=start`, null, 'nothing')
  await stream.catch(() => {})
  await until(() => shop.service.errors().includes('its file was deleted, moved or replaced'))
  const lines = shop.service.errors().trimEnd().split('\n')
  const failures = lines.map(line => JSON.parse(line)).filter(({ level }) => level === 'error')
  expect(failures).toMatchObject([{ logger: 'database', request_id: expect.any(String) }])
  expect(failures[0]).not.toHaveProperty('stack')
  renameSync(`${file}.away`, file)
})

/** Reads the stream of the activity page, after an id, until it has sent a text. */
async function changesAfter(path: string, id: string | null, end: string): Promise<string> {
  const headers = { Accept: 'text/event-stream', ...(id !== null && { 'Last-Event-ID': id }) }
  const response = await fetch(path, { headers })
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString()
    if (text.includes(end)) break
  }
  return text
}

/** The id of the change that made something with this name. */
async function changeOf(address: string, name: string): Promise<string> {
  const response = await fetch(`${address}/events?since=start`, { headers: { Accept: 'application/x-ndjson' } })
  const lines = (await response.text()).split('\n').filter(line => line !== '')
  return lines.map(line => JSON.parse(line)).find(({ data }) => data.name === name).id
}
