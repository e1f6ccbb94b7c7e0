import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { DESKTOP, PHONE, violations } from '../../../test/harness/browser/accessibility.ts'
import { openBrowser, type Tab, type TabOptions, type TestBrowser } from '../../../test/harness/browser/chromium.ts'
import { holdBack } from '../../../test/harness/browser/held-answers.ts'
import { otherSite } from '../../../test/harness/browser/other-site.ts'
import { opensOtherTab } from '../../../test/harness/browser/other-tab.ts'
import { reusingTabs } from '../../../test/harness/browser/reused-tabs.ts'
import { revokeKey, startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import { logInAt } from '../../../test/harness/chat/login.ts'
import { client } from '../../../test/harness/client.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { freePort } from '../../../test/harness/free-port.ts'
import { type Service, startServer } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const folder = temporaryFolder()
const database = `sqlite:${join(folder.path, 'shop.db')}`
const port = await freePort()

let browser: TestBrowser
let service: Service
const api = client(() => service.address)

beforeAll(async () => {
  const [opened, started] = await Promise.all([openBrowser(), start()])
  browser = reusingTabs(opened)
  service = started
  const garden = await api.create('/categories/', { name: 'Garden', description: 'All for the garden' })
  const lines = Array.from({ length: 60 }, (_, place) => product(`Spade ${place + 1}`, 1 + place))
  await api.send('/products/', {
    method: 'POST',
    body: lines.map(line => JSON.stringify({ ...line, category_id: garden })).join('\n'),
    headers: { 'Content-Type': 'application/x-ndjson' },
  })
  for (const name of ['مجرفة حديقة من الفولاذ المقاوم للصدأ', '園芸用シャベル・ステンレス製', 'W'.repeat(50)]) {
    await api.create('/products/', { ...product(name, 1234567.89), description: 'long '.repeat(2_000) })
  }
  const user = { name: 'أمينة', email: 'amina@mail.example', avatar: '', password: 'x', is_banned: 1, is_admin: 1 }
  await api.create('/users/', user)
  for (const comment of ['Bad', 'ممتاز', 'W'.repeat(10_000), 'Fine', 'Good']) {
    await api.create('/reviews/', { product_id: 1, user_id: 1, rating: 1, comment })
  }
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

test('axe finds nothing wrong with any page, on a phone and a desktop, light and dark, and nothing needs to be scrolled sideways', async () => {
  const paths = [
    ...['/', '/admin/', '/admin/?q=nothing', '/admin/products/61', '/admin/products/new', '/admin/categories/'],
    ...['/admin/reviews/', '/admin/users/', '/admin/users/1', '/admin/import'],
  ]
  await using tab = await open('/admin/import', PHONE)
  const { page } = tab
  for (const path of paths) {
    await page.setViewportSize(PHONE.viewport)
    await page.goto(service.address + path, { waitUntil: 'load' })
    // Most rows are alike, and axe looks at each for long.
    await page.evaluate(`for (const row of document.querySelectorAll('#rows > tr:nth-child(n + 6)')) row.remove()`)
    for (const { viewport } of [PHONE, DESKTOP]) {
      await page.setViewportSize(viewport)
      expect(await violations(page), `${path}, ${viewport.width} px wide`).toEqual([])
      const wider = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      expect(await page.evaluate(wider), `${path}, ${viewport.width} px wide`).toBe(0)
    }
  }
  expect(tab.requests().filter(address => !address.startsWith(service.address))).toEqual([])
  expect(tab.complaints()).toEqual([])
})

test('on a phone, the flags of a user and the stars of a product leave room for “Delete” and for why it was refused', async () => {
  const flags = {
    is_admin: 1,
    is_verified: 1,
    is_suspended: 1,
    is_blocked: 1,
    is_banned: 1,
    is_deleted: 1,
    is_active: 0,
  }
  const user = { name: 'Every flag', email: 'every@mail.example', avatar: '', password: 'x' }
  const id = await api.create('/users/', { ...user, ...flags })
  await using tab = await open('/admin/users/', PHONE)
  const all = tab.page.locator(`#users-${id}`)
  const button = await all.getByRole('button', { name: 'Delete Every flag' }).boundingBox()
  const boxes = await Promise.all((await all.locator('.flag').all()).map(flag => flag.boundingBox()))
  expect(boxes).toHaveLength(7)
  for (const box of boxes) expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(button?.y ?? 0)
  const { page } = tab
  await page.clock.install()
  await page.goto(`${service.address}/admin/?q=spade+59`)
  const refused = row(page, 59)
  await refused.getByRole('button', { name: /^Delete/ }).click()
  await api.put('/products/59', product('Spade 59', 58))
  await page.clock.runFor(11_000)
  const reason = await refused.locator('.failed').boundingBox()
  const stars = await refused.locator('.stars').boundingBox()
  expect((stars?.y ?? 0) + (stars?.height ?? 0)).toBeLessThanOrEqual(reason?.y ?? 0)
})

test('typing searches at once and shows in the address, a row is edited in place with the keyboard, and Ctrl opens a tab', async () => {
  await using tab = await open('/admin/')
  const { page } = tab
  await page.getByLabel('Search products').pressSequentially('spade 17', { delay: 5 })
  await until(async () => (await rows(page)) === 1)
  expect(page.url()).toBe(`${service.address}/admin/?q=spade+17`)
  await page.getByRole('link', { name: 'Edit Spade 17' }).focus()
  await page.keyboard.press('Enter')
  await until(async () => (await focused(page)) === 'name')
  await page.getByRole('textbox', { name: 'Name' }).fill('Shovel 17')
  await page.getByLabel('Price', { exact: true }).fill('0')
  await page.keyboard.press('Enter')
  await page.getByText('Should be greater than 0').waitFor()
  await page.getByLabel('Price', { exact: true }).fill('12,5')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Edit Shovel 17' }).waitFor()
  expect((await api.get('/products/17')).body).toMatchObject({ name: 'Shovel 17', price: 12.5, description: 'Steel' })
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Edit')
  expect(await page.locator('#told').textContent()).toBe('Saved.')
  await page.getByLabel('Search products').fill('')
  await until(async () => (await rows(page)) === 50)
  expect(await opensOtherTab(page.getByRole('link', { name: 'Show more' }))).toBe(true)
  expect(await rows(page)).toBe(50)
  await page.getByRole('link', { name: 'Show more' }).click()
  await until(async () => (await rows(page)) === 63)
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Spade 13')
  expect(unexpected(tab)).toEqual([])
})

test('a name of fifty characters that take two places each can be edited, in its row and on its page', async () => {
  const id = await api.create('/products/', product('🪏'.repeat(50), 1))
  await using tab = await open('/admin/')
  const { page } = tab
  await page.getByRole('link', { name: 'Edit 🪏' }).click()
  await page.getByRole('textbox', { name: 'Name' }).press('End')
  await page.keyboard.press('Backspace')
  await page.keyboard.type('🌱')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: /^🪏.*🌱$/ }).click()
  await page.getByRole('textbox', { name: 'Name' }).press('Home')
  await page.keyboard.press('Delete')
  await page.keyboard.type('🌱')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: `🌱${'🪏'.repeat(48)}🌱` })
  await api.delete(`/products/${id}`)
})

test('a deletion waits ten seconds with Undo, and a row that somebody has changed meanwhile stays', async () => {
  await using tab = await open('/admin/?q=spade&sort=-price&max_price=8', { isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.reload()
  const [first, second, third] = [row(page, 1), row(page, 2), row(page, 3)]
  await stopClock(page)
  await first.getByRole('button', { name: /^Delete/ }).click()
  expect(await first.innerText()).toContain('10 s')
  await page.clock.resume()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Enter')
  expect(await first.locator('.undo').count()).toBe(0)
  // A deletion can also be undone when the list shows something else.
  await first.getByRole('button', { name: /^Delete/ }).click()
  await page.getByLabel('Search products').fill('nothing')
  await page.clock.runFor(500)
  await until(async () => (await page.locator('#pending > *').count()) === 1)
  expect(await violations(page)).toEqual([])
  await page.getByLabel('Search products').fill('spade')
  await page.clock.runFor(500)
  await until(async () => (await first.locator('.undo').count()) === 1)
  expect(await page.locator('#pending > *').count()).toBe(0)
  await first.getByRole('button', { name: /^Undo/ }).click()
  await second.getByRole('checkbox').check()
  await third.getByRole('checkbox').check()
  await page.getByText('2 selected').waitFor()
  await stopClock(page)
  await page.getByRole('button', { name: 'Delete selected' }).press('Enter')
  // The bar with the button has gone.
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Undo the deletion of Spade 3')
  expect(await page.locator('#told').textContent()).toBe('2 will be deleted in 10 seconds.')
  await api.put('/products/3', product('Changed', 3))
  await page.getByLabel('Search products').fill('spade 2')
  await page.clock.runFor(500)
  await page.locator('#pending').getByText('Spade 3').waitFor()
  await page.clock.runFor(8_500)
  expect((await api.get('/products/2')).status).toBe(200)
  const listed = page.waitForResponse(answer => answer.url().includes('/admin/?q=spade%202'))
  await page.clock.runFor(1_500)
  await page.clock.resume()
  await until(async () => (await api.get('/products/2')).status === 404)
  await (await listed).finished()
  await page.getByText('Nothing matches.').waitFor()
  expect(await page.locator('#connection').innerText()).toStartWith('Spade 3: Somebody has changed it since')
  expect((await api.get('/products/1')).status).toBe(200)
  expect(unexpected(tab)).toEqual([])
})

test('once a deletion was sent, nothing offers to undo it, whatever the list shows meanwhile', async () => {
  await using tab = await browser.openTab({ hasRoutes: true, isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(`${service.address}/admin/?q=spade&sort=price`)
  const sent = await holdBack(page, '**/admin/deletions')
  await row(page, 40)
    .getByRole('button', { name: /^Delete/ })
    .click()
  await page.clock.runFor(10_500)
  await sent.isAsked
  expect(await row(page, 40).locator('.undo').innerText()).toBe('Deleting')
  expect(await page.evaluate(`document.activeElement.closest('tr').id`)).toBe('products-40')
  await page.keyboard.press('u')
  for (const [words, place] of [
    ['nothing', '#pending'],
    ['spade 4', '#products-40'],
  ] as const) {
    await page.getByLabel('Search products').fill(words)
    await page.clock.runFor(500)
    await until(async () => (await page.locator(`${place} .undo`).count()) === 1)
    expect(await page.locator('.undo').allInnerTexts()).toEqual(['Deleting'])
  }
  expect(await violations(page)).toEqual([])
  sent.letPass()
  await until(async () => (await page.locator('.undo').count()) === 0)
  expect(await row(page, 40).count()).toBe(0)
  expect((await api.get('/products/40')).status).toBe(404)
  expect(unexpected(tab)).toEqual([])
})

test('a list and its counts that have to wait for the index are asked for again', async () => {
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  const later = { status: 503, headers: { 'Retry-After': '1' }, json: { detail: 'The index is being built' } }
  await page.route(/facets/, route => route.fulfill(later), { times: 1 })
  await page.goto(`${service.address}/admin/`)
  await page.locator('#facets a').first().waitFor()
  // A proxy may add its own, and the first counts.
  const joined = { ...later, headers: { 'Retry-After': '1, 30' } }
  await page.route(/q=spade/, route => route.fulfill(joined), { times: 1 })
  await page.getByLabel('Search products').fill('spade 8')
  await page.getByText('One moment: the list is being prepared.').waitFor()
  await page.waitForURL('**/?q=spade+8')
})

test('a next page that comes after other words were typed is not added to what they found', async () => {
  await using tab = await open('/admin/?q=spade', { hasRoutes: true })
  const { page } = tab
  const more = await holdBack(page, /cursor=/)
  await page.getByRole('link', { name: 'Show more' }).click()
  await more.isAsked
  await page.getByLabel('Search products').fill('steel')
  await until(async () => page.url().endsWith('?q=steel'))
  more.letPass()
  await page.getByRole('link', { name: 'Show more' }).click()
  const total = await page.locator('[data-tell]').innerText()
  await until(async () => `${await rows(page)} products` === total)
})

test('a row that is edited stays so whatever is searched, and its keys do nothing to the list', async () => {
  await using tab = await open('/admin/?q=spade+4', { hasRoutes: true })
  const { page } = tab
  await page.getByRole('link', { name: 'Edit Spade 41' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('Typed')
  await name.dispatchEvent('keydown', { key: 'Escape', keyCode: 229, isComposing: true })
  // Safari ends the composition before it tells of the key.
  await name.dispatchEvent('keydown', { key: 'Escape', keyCode: 229, isComposing: false })
  for (const words of ['spade 42', 'spade 41', 'spade 42']) {
    await page.getByLabel('Search products').fill(words)
    await page.waitForURL(`**/?q=${words.replace(' ', '+')}`)
    expect(await name.count()).toBe(words === 'spade 42' ? 0 : 1)
    expect(await focused(page)).toBe('q')
  }
  const ended = { status: 401, headers: { 'HX-Redirect': '/admin/login' }, body: '{}' }
  await page.route(/q=late/, route => route.fulfill(ended))
  await page.getByLabel('Search products').fill('late')
  await page.getByText('Your session has ended.').waitFor()
  await page.getByLabel('Search products').fill('spade 4')
  await page.getByText('Your session has ended.').waitFor({ state: 'hidden' })
  await name.focus()
  const counted = page.waitForResponse(answer => answer.url().includes('/facets'))
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await counted
  expect(await name.inputValue()).toBe('Typed')
  expect(await focused(page)).toBe('name')
  const proxy = { contentType: 'text/html', body: '<main id="content">Log in to the proxy</main>\n' }
  await page.route(/facets|row$/, route => route.fulfill(proxy))
  await name.press('Enter')
  await page.getByText('Something other than the store has answered.').waitFor()
  expect(await name.inputValue()).toBe('Typed')
  await page.getByLabel('Search products').fill('spade 4')
  await until(async () => (await page.locator('#facets').innerText()) === '')
  await page.getByRole('button', { name: 'Save' }).press('d')
  await page.getByRole('link', { name: 'Cancel' }).press('Delete')
  await page.getByRole('button', { name: 'Delete Spade 42' }).click()
  await page.getByRole('button', { name: /^Undo/ }).click()
  expect(await page.locator('.leaving').count()).toBe(0)
  expect(unexpected(tab).filter(complaint => !/status of 401|Status Error Code (401|200)/.test(complaint))).toEqual([])
})

test('the limit of a band of prices is a field that says what it limits, so it can be changed', async () => {
  await using tab = await open('/admin/?q=spade+4')
  const { page } = tab
  await page.getByRole('link', { name: /^25 to 50/ }).click()
  await page.waitForURL(/below_price=50/)
  await page.getByRole('spinbutton', { name: 'Price below' }).fill('')
  await until(async () => !page.url().includes('below_price'))
  expect(new URL(page.url()).search).toBe('?q=spade+4&min_price=25')
  await page.getByLabel('Price from').fill('-5')
  await page.getByText('min price: Input should be greater than or equal to 0').waitFor()
  expect(unexpected(tab)).toEqual([])
})

test('deletions beyond those that can be sent when the page goes do not wait: the page says so, and they stay selected', async () => {
  const id = await api.create('/categories/', { name: 'Last of many', description: 'All that goes' })
  await using tab = await open('/admin/categories/')
  const { page } = tab
  // Nobody has the others.
  await page.evaluate(`
    const row = document.getElementById('categories-${id}')
    row.querySelector('input').click()
    for (let id = 1001; id <= 2000; id += 1) {
      const copy = row.cloneNode(true)
      copy.dataset.item = copy.querySelector('input').value = 'categories/' + id + ' "a.b"'
      copy.querySelector('input').checked = true
      if (id < 1500) row.before(copy)
      else row.after(copy)
    }
  `)
  await page.getByRole('button', { name: 'Delete selected' }).click()
  await page.getByText('Only 500 deletions can wait at once. Delete the rest after these.').waitFor()
  expect(await page.locator('.leaving').count()).toBe(500)
  expect(await page.locator('#selected').innerText()).toBe('501 selected')
  page.once('dialog', dialog => dialog.accept())
  await page.getByRole('link', { name: 'Users' }).click()
  await until(async () => (await api.get(`/categories/${id}`)).status === 404)
})

test('the row of a product that somebody else has deleted goes away with “Cancel”, but not if a proxy knows of no server', async () => {
  await using tab = await open('/admin/?q=spade&sort=id', { hasRoutes: true })
  const { page } = tab
  await page.getByRole('link', { name: 'Edit Spade 43' }).click()
  const save = page.getByRole('button', { name: 'Save' })
  await save.waitFor()
  const total = Number.parseInt(await page.locator('#total').innerText(), 10)
  await api.delete('/products/43')
  await save.click()
  await page.getByText('There is no such product, or no longer.').waitFor()
  await page.route('**/43/row', route => route.fulfill({ status: 404, body: '404 page not found' }), { times: 1 })
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByText('The server answered 404.').waitFor()
  await page.getByRole('link', { name: 'Cancel' }).click()
  await row(page, 43).waitFor({ state: 'detached' })
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Spade 44')
  await page.getByText(`${total - 1} products`, { exact: true }).waitFor()
})

test('what a list counts follows a deletion', async () => {
  await using tab = await browser.openTab({ isNew: true })
  const { page } = tab
  await page.clock.install()
  const id = await api.create('/products/', product('Trowel', 5))
  for (const rating of [2, 2, 4]) await api.create('/reviews/', { product_id: id, user_id: 1, rating, comment: 'Deep' })
  // As after the link that skips to the content.
  await page.goto(`${service.address}/admin/products/${id}#content`)
  const counted = async () => [
    await page.locator('[data-tell]').innerText(),
    (await page.locator('.chips .quiet').allInnerTexts()).join('').replaceAll(' ', ''),
    (await page.locator('.histogram .number').allInnerTexts()).join(''),
  ]
  expect(await counted()).toEqual(['3 reviews', '02010', '01020'])
  for (const place of [1, 2]) await page.locator('#rows input').nth(place).check()
  await page.getByRole('button', { name: 'Delete selected' }).click()
  await page.locator('.chips a').nth(4).focus()
  expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(200)
  await page.clock.runFor(11_000)
  await page.getByText('1 review', { exact: true }).waitFor()
  expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(200)
  expect(await counted()).toEqual(['1 review', '00010', '01000'])
  expect(await page.evaluate('document.activeElement.id')).toBe('stars-4')
  // A review that waits goes with its product, so nothing asks whether to leave the page.
  const asked: string[] = []
  page.on('dialog', dialog => {
    asked.push(dialog.type())
    dialog.accept()
  })
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.clock.runFor(1_000)
  await page.getByRole('button', { name: /^Delete the review/ }).click()
  await page.clock.runFor(10_000)
  await page.getByText('1 deleted.').waitFor()
  expect(page.url()).toBe(`${service.address}/admin/`)
  expect((await api.get(`/products/${id}`)).status).toBe(404)
  expect(asked).toEqual([])
  expect(unexpected(tab)).toEqual([])
})

test('the page after one that still had deletions to send does not keep what they deleted', async () => {
  await using tab = await open('/admin/?q=spade')
  const { page } = tab
  const total = page.locator('[data-tell]')
  const before = Number.parseInt(await total.innerText(), 10)
  page.on('dialog', dialog => dialog.accept())
  await row(page, 45)
    .getByRole('button', { name: /^Delete/ })
    .click()
  await page.reload()
  const name = row(page, 46).locator('.name')
  await name.focus()
  await page.locator('[data-tell]', { hasText: `${before - 1} products` }).waitFor()
  expect(await name.evaluate(link => link.matches(':focus'))).toBe(true)
  expect(await row(page, 45).count()).toBe(0)
  expect(unexpected(tab)).toEqual([])
})

test('a deletion whose answer breaks off can be tried again, and the focus goes neither with “Undo” nor with the last row', async () => {
  const id = await api.create('/products/', product('Half answered', 1))
  await using tab = await open('/admin/', { hasRoutes: true, isNew: true })
  const { page } = tab
  await page.clock.install()
  const headers = { 'Content-Type': 'application/json' }
  await page.route('**/admin/deletions', route => route.fulfill({ body: '[{"item"', headers }))
  await row(page, id).getByRole('button', { name: 'Delete' }).click()
  const ended = { status: 401, headers: { 'HX-Redirect': '/admin/login' }, body: '{}' }
  await page.route(/q=late/, route => route.fulfill(ended))
  await page.getByLabel('Search products').fill('late')
  await page.clock.runFor(500)
  await page.getByText('Your session has ended.').waitFor()
  await page.locator('#connection a').focus()
  await page.getByLabel('Search products').evaluate(field => field.dispatchEvent(new Event('input', { bubbles: true })))
  const again = page.waitForResponse(answer => answer.status() === 401)
  await page.clock.runFor(500)
  await (await again).finished()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Log in in another tab')
  await page.clock.runFor(10_000)
  await row(page, id).getByText('Not deleted. Try again.').waitFor()
  await page.goto(`${service.address}/admin/products/${id}`)
  await page.getByRole('button', { name: 'Delete' }).press('Enter')
  await page.clock.runFor(11_000)
  await page.locator('.failed').waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
  await page.unrouteAll()
  await page.goto(`${service.address}/admin/?q=half`)
  await row(page, id).locator('.name').press('d')
  for (const key of ['x', 'e']) await row(page, id).locator('.name').press(key)
  expect(await page.locator('input[name="item"]:checked').count()).toBe(0)
  await page.clock.runFor(11_000)
  await page.getByText('Nothing matches.').waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
  expect(tab.requests().filter(address => address.endsWith('?edit'))).toEqual([])
})

test('logging out before a deletion is due asks first, and then sends it while there is still a session', async () => {
  await using shop = await startKeyedShop(sqlite)
  const id = await shop.api.admin.create('/products/', product('Sold out', 1))
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  await page.goto(`${shop.service.address}/admin/import`)
  await logInAt(page, shop.keys.write)
  await page.context().clearCookies()
  // Not saved as the file.
  await page.getByRole('link', { name: 'CSV of products' }).click()
  await page.waitForURL('**/admin/login*')
  await page.goto(`${shop.service.address}/admin/`)
  await logInAt(page, shop.keys.write)
  const deletion = page.getByRole('button', { name: 'Delete', exact: true })
  const logOut = page.getByRole('button', { name: 'Log out' })
  await page.goto(`${shop.service.address}/admin/products/${id}`)
  await deletion.click()
  page.once('dialog', dialog => dialog.dismiss())
  await logOut.click()
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  page.on('dialog', dialog => dialog.accept())
  await page.route('**/admin/deletions', route =>
    route.fulfill({ status: 503, json: { detail: 'The database is away' } }),
  )
  await logOut.click()
  await page.getByText('The database is away.').waitFor()
  await page.locator('.failed', { hasText: 'Not deleted. Try again.' }).waitFor()
  await page.unrouteAll()
  await shop.api.admin.put(`/products/${id}`, product('Changed', 1))
  await deletion.click()
  await logOut.click()
  await page.locator('.failed', { hasText: 'Somebody has changed it since' }).waitFor()
  await page.reload()
  await deletion.click()
  await logOut.click()
  // The page that a deleted product leads to gives way.
  await until(async () => page.url().endsWith('/admin/login'))
  expect((await shop.api.admin.get(`/products/${id}`)).status).toBe(404)
})

test('a double click deletes, or undoes, like a click, and a key that is held down deletes one thing', async () => {
  await using tab = await open('/admin/?q=spade&sort=id')
  const { page } = tab
  await row(page, 47)
    .getByRole('button', { name: /^Delete/ })
    .dblclick()
  expect(await page.locator('.leaving').count()).toBe(1)
  await page.locator('.leaving .undo button').dblclick()
  expect(await page.locator('.leaving').count()).toBe(0)
  await row(page, 47).locator('.name').focus()
  for (let time = 0; time < 4; time += 1) await page.keyboard.down('d')
  await page.keyboard.up('d')
  expect(await page.locator('.leaving').count()).toBe(1)
  await page.keyboard.press('u')
  await row(page, 47)
    .getByRole('button', { name: /^Delete/ })
    .focus()
  for (let time = 0; time < 4; time += 1) await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  expect(await page.locator('.leaving').count()).toBe(1)
  await page.locator('.leaving .undo button').click()
  const cancelled = page.waitForRequest(request => request.url().endsWith('/48/row'))
  await row(page, 48).locator('[data-edit]').focus()
  await page.keyboard.down('Enter')
  await page.locator('.editing').waitFor()
  for (let time = 0; time < 4; time += 1) await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  await page.keyboard.press('Escape')
  expect((await cancelled).method()).toBe('GET')
})

test('the first Tab reaches the link that skips to the content, and on a phone the current section is in sight', async () => {
  await using tab = await open('/admin/activity', PHONE)
  const { page } = tab
  const [link, navigation] = await Promise.all(
    [page.getByRole('link', { name: 'Activity' }), page.getByRole('navigation')].map(one => one.boundingBox()),
  )
  expect((link?.x ?? 0) + (link?.width ?? 0)).toBeLessThanOrEqual((navigation?.x ?? 0) + (navigation?.width ?? 0))
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
})

test('the bar for selected rows does not cover what has the focus', async () => {
  await using tab = await open('/admin/?q=spade&sort=id', PHONE)
  const { page } = tab
  await page.locator('#rows input').first().check()
  const covered: string[] = []
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    const [bar, box] = await Promise.all([page.locator('.selection').boundingBox(), focused.boundingBox()])
    if (bar && box && box.y + box.height > bar.y && box.y < bar.y + bar.height) covered.push(await focused.innerText())
  }
  expect(covered).toEqual([])
})

test('a row that is being saved cannot be cancelled, so it shows what was saved or refused, whatever is searched meanwhile', async () => {
  const id = await api.create('/products/', product('Before', 1))
  await using tab = await open('/admin/', { hasRoutes: true })
  const { page } = tab
  await row(page, id).getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('After')
  const saving = await holdBack(page, `**/admin/products/${id}/row`)
  await page.keyboard.press('Enter')
  await saving.isAsked
  await page.keyboard.press('Escape')
  await page.getByLabel('Search products').fill('before')
  await page.waitForURL('**?q=before')
  saving.letPass()
  await page.getByRole('link', { name: 'After', exact: true }).waitFor()
  await row(page, id).getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Later')
  const again = await holdBack(page, `**/admin/products/${id}/row`)
  await page.keyboard.press('Enter')
  await again.isAsked
  await page.getByLabel('Search products').fill('nothing')
  await page.waitForURL('**?q=nothing')
  const saved = page.waitForResponse(answer => answer.url().endsWith('/row'))
  again.letPass()
  await (await saved).finished()
  await page.getByLabel('Search products').fill('later')
  await page.getByRole('link', { name: 'Later', exact: true }).waitFor()
  await row(page, id).getByRole('link', { name: 'Edit' }).click()
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('Refused')
  await page.getByLabel('Price', { exact: true }).fill('0')
  const refused = await holdBack(page, `**/admin/products/${id}/row`)
  await page.keyboard.press('Enter')
  await refused.isAsked
  await page.getByLabel('Search products').fill('nothing')
  await page.waitForURL('**?q=nothing')
  const answer = page.waitForResponse(one => one.url().endsWith('/row'))
  refused.letPass()
  await (await answer).finished()
  await page.getByLabel('Search products').fill('later')
  await page.getByText('Should be greater than 0').waitFor()
  expect(await focused(page)).toBe('q')
  // As when the browser comes back to the page.
  const counted = page.waitForResponse(one => one.url().includes('/facets'))
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await counted
  expect(await name.inputValue()).toBe('Refused')
  await api.delete(`/products/${id}`)
})

test('leaving the page before a deletion is due asks first, and then sends it', async () => {
  await using tab = await open('/admin/products/4')
  const { page } = tab
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  const asked = new Promise<string>(resolve => {
    page.once('dialog', dialog => {
      resolve(dialog.type())
      dialog.accept()
    })
  })
  await page.getByRole('link', { name: 'Categories' }).click()
  expect(await asked).toBe('beforeunload')
  await until(async () => (await api.get('/products/4')).status === 404)
})

test('whoever reads reviews all day needs only the keyboard', async () => {
  await using tab = await open('/admin/reviews/')
  const { page } = tab
  await page.locator('#rows .name').first().focus()
  for (const keys of ['Control+d', 'Alt+d', 'Meta+d']) await page.keyboard.press(keys)
  expect(await page.locator('.leaving').count()).toBe(0)
  await page.keyboard.press('d')
  for (const key of ['j', 'k', 'ArrowDown', 'ArrowUp', 'j']) await page.keyboard.press(key)
  // As with Caps Lock.
  await page.keyboard.press('D')
  expect(await page.locator('.leaving').count()).toBe(2)
  await page.keyboard.press('u')
  expect(await page.locator('.leaving').count()).toBe(1)
  expect(await page.evaluate(`document.activeElement.closest('tr').id`)).toBe('reviews-3')
  await page.keyboard.press('k')
  await page.keyboard.press('u')
  expect(await page.locator('.leaving').count()).toBe(0)
})

test('of two people who change a product, the second sees both versions side by side', async () => {
  await using tab = await open('/admin/products/5')
  const { page } = tab
  await api.put('/products/5', product('Theirs', 5))
  await page.getByRole('textbox', { name: 'Name' }).fill('Mine')
  // As somebody does who resizes it.
  await page.getByLabel('Description').evaluate(area => area.style.setProperty('height', '20rem'))
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Somebody else has changed this meanwhile').waitFor()
  expect(await page.locator('.conflict tbody tr').first().innerText()).toBe('Name\tTheirs\tMine')
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Save my version' }).click()
  await page.getByText('Saved.').waitFor()
  expect(page.url()).toBe(`${service.address}/admin/products/5`)
  expect((await api.get('/products/5')).body).toMatchObject({ name: 'Mine', price: 5 })
  expect(unexpected(tab)).toEqual([])
})

test('a text that “Back” brings back is a change of the version that it was typed into', async () => {
  const id = await api.create('/products/', product('Old', 5))
  await using tab = await open(`/admin/products/${id}`)
  const { page } = tab
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill('Mine')
  await page.getByRole('link', { name: 'Categories' }).click()
  await page.waitForURL('**/categories/')
  await api.put(`/products/${id}`, product('Theirs', 5))
  await page.goBack()
  await until(async () => (await page.getByRole('textbox', { name: 'Name' }).inputValue()) === 'Mine')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Somebody else has changed this meanwhile').waitFor()
  expect(await page.locator('.conflict tbody tr').allInnerTexts()).toEqual(['Name\tTheirs\tMine'])
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: 'Theirs' })
  await api.delete(`/products/${id}`)
})

test('without scripts, “Back” brings back a text only into the version that it was typed into', async () => {
  const id = await api.create('/products/', product('Old', 5))
  await using tab = await open(`/admin/products/${id}`, { javaScriptEnabled: false })
  const { page } = tab
  const name = page.getByRole('textbox', { name: 'Name' })
  const comeBack = async (meanwhile: () => Promise<unknown>) => {
    await name.fill('Mine')
    await page.getByRole('link', { name: 'Categories' }).click()
    await page.waitForURL('**/categories/')
    await meanwhile()
    await page.goBack()
    await page.waitForURL(`**/products/${id}`)
    return name.inputValue()
  }
  expect(await comeBack(async () => {})).toBe('Mine')
  expect(await comeBack(() => api.put(`/products/${id}`, product('Theirs', 5)))).toBe('Theirs')
  await api.delete(`/products/${id}`)
})

test('what is typed stays while the last review goes, and when the page comes back from the browser’s memory', async () => {
  const id = await api.create('/products/', product('Described', 5))
  await api.create('/reviews/', { product_id: id, user_id: 1, rating: 2, comment: 'Only one' })
  await using tab = await browser.openTab({ isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(`${service.address}/admin/products/${id}`)
  await page.getByRole('button', { name: /^Delete the review/ }).click()
  await page.getByLabel('Description').fill('Typed')
  await page.clock.runFor(11_000)
  await page.getByText('There are no reviews yet.').waitFor()
  expect(await page.locator('.histogram .number').allInnerTexts()).toEqual(['0', '0', '0', '0', '0'])
  await api.create('/reviews/', { product_id: id, user_id: 1, rating: 3, comment: 'Another' })
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await page.getByText('Another').waitFor()
  expect(await page.getByLabel('Description').inputValue()).toBe('Typed')
  await api.delete(`/products/${id}`)
  expect(unexpected(tab)).toEqual([])
})

test('what is typed or chosen while a form is being saved stays in it, with the focus, and is saved if that is asked', async () => {
  const id = await api.create('/products/', product('Saved slowly', 5))
  await using tab = await open(`/admin/products/${id}`, { hasRoutes: true })
  const { page } = tab
  const saving = await holdBack(page, `**/admin/products/${id}`)
  await page.getByRole('textbox', { name: 'Name' }).fill('Saved first')
  await page.keyboard.press('Enter')
  await saving.isAsked
  await page.getByLabel('Description').fill('Typed la')
  saving.letPass()
  await page.getByText('Saved.').waitFor()
  await page.keyboard.type('ter')
  const shown = page.waitForResponse(answer => answer.request().redirectedFrom() !== null && answer.ok())
  await page.getByRole('button', { name: 'Save' }).click()
  await shown
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: 'Saved first', description: 'Typed later' })
  const again = await holdBack(page, `**/admin/products/${id}`)
  await page.getByRole('textbox', { name: 'Name' }).fill('Saved second')
  await page.keyboard.press('Enter')
  await again.isAsked
  await page.getByRole('textbox', { name: 'Name' }).fill('Saved third')
  await page.keyboard.press('Enter')
  again.letPass()
  await page.locator('#content:focus').waitFor()
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: 'Saved third' })
  await api.delete(`/products/${id}`)
  await page.goto(`${service.address}/admin/users/1`)
  const flags = await holdBack(page, '**/admin/users/1')
  await page.getByRole('button', { name: 'Save' }).click()
  await flags.isAsked
  await page.getByLabel('banned').uncheck()
  await page.getByLabel('verified').check()
  flags.letPass()
  await page.getByText('Saved.').waitFor()
  expect(await focused(page)).toBe('is_verified')
  expect(
    await page.getByRole('checkbox', { checked: true }).evaluateAll(boxes => boxes.map(({ name }) => name)),
  ).toEqual(['is_active', 'is_verified', 'is_admin'])
  expect(unexpected(tab)).toEqual([])
})

test('no other category can be chosen while a product is being created, and one can again if it was refused', async () => {
  await api.create('/categories/', { name: 'Chosen', description: 'In time' })
  await using tab = await open('/admin/products/new', { hasRoutes: true })
  const { page } = tab
  const category = page.getByLabel('Category')
  await page.getByRole('textbox', { name: 'Name' }).fill('Dibber')
  await page.getByRole('textbox', { name: 'Price' }).fill('0')
  await category.selectOption('Chosen')
  const creating = await holdBack(page, '**/admin/products/new')
  await page.getByRole('button', { name: 'Create' }).click()
  await creating.isAsked
  expect(await category.isDisabled()).toBe(true)
  creating.letPass()
  await page.getByText('Should be greater than 0').waitFor()
  expect(await category.isEnabled()).toBe(true)
  await page.getByRole('textbox', { name: 'Price' }).fill('5')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('Created.').waitFor()
  expect(await page.locator('.aside').getByRole('link').innerText()).toBe('Chosen')
  expect(unexpected(tab)).toEqual([])
})

test('a form that is refused says why, and neither a proxy’s page nor what it says for some seconds takes its place', async () => {
  const category = await api.create('/categories/', { name: 'Passing', description: 'Soon gone' })
  await using tab = await browser.openTab({ hasRoutes: true, isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(`${service.address}/admin/products/new`)
  await page.getByRole('textbox', { name: 'Name' }).fill('Trowel')
  await page.getByRole('textbox', { name: 'Price' }).fill('5')
  await page.getByLabel('Category').selectOption('Passing')
  await api.delete(`/categories/${category}`)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.notice').getByText('Category not found').waitFor()
  // As when the browser comes back to the page.
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await page.route('**/new', route => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad</h1>' }))
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('The server answered 502.').waitFor()
  await page.route('**/new', route => route.fulfill({ contentType: 'text/html', body: '<main id="content"></main>' }))
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('Something other than the store has answered.').waitFor()
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Trowel')
  await page.clock.runFor(5_000)
  await page.route('**/new', route => route.fulfill({ status: 401, json: { detail: 'Log in first' } }))
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await page.clock.runFor(5_000)
  expect(await page.locator('#connection').innerText()).toStartWith('Your session has ended.')
  await page.route(/new|healthz/, route => route.abort())
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('The server cannot be reached.').waitFor()
  await page.route('**/new', route => route.fulfill({ status: 502, body: 'Bad' }))
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('The server answered 502.').waitFor()
  await page.clock.runFor(9_000)
  await page.getByText('The server cannot be reached.').waitFor({ timeout: 5_000 })
})

test('changes appear while somebody watches, and the counts beside the list narrow it', async () => {
  await using tab = await open('/admin/activity')
  const { page } = tab
  // As after five hundred changes.
  await page.evaluate(`
    const list = document.getElementById('changes')
    for (let count = 0; count < 500; count += 1) list.append(document.createElement('li'))
  `)
  await api.put('/products/6', product('Watched', 2))
  await page.getByRole('link', { name: 'Watched' }).waitFor()
  expect(await page.locator('#changes > li').count()).toBe(500)
  expect(await page.locator('#changes time:not([title])').count()).toBe(0)
  await page.getByRole('link', { name: 'Watched' }).click()
  await page.getByRole('link', { name: 'Products', exact: true }).click()
  await page
    .getByRole('navigation', { name: 'Narrow the list' })
    .getByRole('link', { name: /^Without a category/ })
    .click()
  await page.getByText('3 products').waitFor()
  expect(page.url()).toBe(`${service.address}/admin/?category_id=0`)
  expect(tab.complaints()).toEqual([])
})

test('whoever watches changes when the session ends is told so, and not that the server is away', async () => {
  await using shop = await startKeyedShop(sqlite, ['--access-log', 'off'])
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(`${shop.service.address}/admin/activity`)
  await logInAt(page, shop.keys.write)
  await page.goto(`${shop.service.address}/admin/activity`)
  await shop.api.write.create('/products/', product('Seen', 1))
  await page.locator('#changes').getByText('Seen').waitFor()
  await revokeKey(shop.url, 'writer')
  await until(async () => (await shop.api.write.get('/products/')).status === 401)
  // The next event ends the stream.
  await until(async () => {
    await shop.api.admin.create('/products/', product('Spade', 1))
    return (await page.locator('#connection').textContent()) !== ''
  })
  const said = page.locator('#connection')
  expect(await said.textContent()).toStartWith('Your session has ended. Log in in another tab')
  // The stream is tried again and refused, which must not take the focus from the link.
  await said.getByRole('link').focus()
  for (let refused = 0; refused < 2; refused += 1) {
    await page.waitForResponse(answer => answer.url().includes('/activity/events?since=') && answer.status() === 401)
  }
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Log in in another tab')
  const [other] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('Enter')])
  await shop.api.admin.create('/products/', product('Missed', 1))
  await logInAt(other, shop.keys.admin)
  await said.waitFor({ state: 'hidden' })
  expect(await page.evaluate('document.activeElement.id')).toBe('content')
  await page.locator('#changes').getByText('Missed').waitFor()
})

test('a dropped file is imported with a bar, and of a wrong one every wrong line is named', async () => {
  await using tab = await open('/admin/import')
  const { page } = tab
  const file = join(folder.path, 'categories.csv')
  const lines = Array.from({ length: 5_000 }, (_, place) => `Category ${place},Something`)
  writeFileSync(file, `name,description\n${lines.join('\n')}\n`)
  await page.locator('input[type=file]').setInputFiles(file)
  expect(await page.getByLabel('What it has').inputValue()).toBe('categories')
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('5,000 lines imported.').waitFor()
  expect(await page.locator('#step').textContent()).toBe('5,000 of 5,000 lines')
  const wrong = {
    name: 'reviews.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`product_id,user_id,rating,comment\n${'1,1,9,x\n'.repeat(20)}`),
  }
  await page.locator('input[type=file]').setInputFiles(wrong)
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('Line 2', { exact: true }).waitFor()
  expect(await violations(page)).toEqual([])
  const [head, line] = ['name,price\n', 'x'.repeat(99)]
  writeFileSync(file, head + `${line}\n`.repeat(60_000))
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('lacks description').waitFor()
  expect(tab.complaints()).toEqual([])
})

test('an import can be cancelled, and the file be imported after all', async () => {
  await using tab = await open('/admin/import', { hasRoutes: true })
  const { page } = tab
  const file = {
    name: 'categories.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('name,description\nLate,Something\n'),
  }
  await page.locator('input[type=file]').setInputFiles(file)
  // The server does not get to see it, so it is never done before it is cancelled.
  await page.route('**/admin/import?*', () => {})
  await page.getByRole('button', { name: 'Import' }).click()
  const asked = new Promise<string>(resolve => {
    page.once('dialog', dialog => {
      resolve(dialog.type())
      dialog.dismiss()
    })
  })
  await page.getByRole('link', { name: 'Users', exact: true }).click()
  expect(await asked).toBe('beforeunload')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('Cancelled. Nothing was imported').waitFor()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Import')
  expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
  await page.unrouteAll()
  const answering = Promise.withResolvers<void>()
  await page.route('**/admin/import?*', async route => {
    await answering.promise
    await route.fulfill({ contentType: 'text/html', body: 'Log in first\n' })
  })
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Cancel' }).focus()
  answering.resolve()
  await page.getByText('Something other than the store has answered.').waitFor()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Import')
  await page.unrouteAll()
  await page.keyboard.press('Enter')
  await page.getByText('1 line imported.').waitFor()
  expect(tab.complaints()).toEqual([])
})

test('a file that was changed after it was chosen, or is a folder, is not a lost connection, and several are not taken', async () => {
  await using tab = await open('/admin/import', { hasRoutes: true })
  const { page } = tab
  const file = join(folder.path, 'products.csv')
  writeFileSync(file, 'name,description,price\nx,y,1\n')
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('Line 2').waitFor()
  writeFileSync(file, 'name,description,price\nCorrected,y,1\n')
  // The browser compares whole seconds.
  utimesSync(file, 1_000_000_000, 1_000_000_000)
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('The file cannot be read').waitFor()
  expect(await page.locator('#connection').isVisible()).toBe(false)
  await page.evaluate(`
    const dataTransfer = new DataTransfer()
    for (const name of ['products.csv', 'users.csv']) dataTransfer.items.add(new File(['x'], name))
    document.querySelector('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }))
  `)
  await page.getByText('Drop one file at a time.').waitFor()
  expect(await page.evaluate(`document.querySelector('input[type=file]').files.length`)).toBe(1)
  // Beside the place for it, the browser would open the file.
  const drop = `
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File(['x'], 'categories.ndjson'))
    const dropOn = element => element.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
  `
  expect(await page.evaluate(`(() => { ${drop}; return dropOn(document.body) })()`)).toBe(false)
  await page.evaluate(`(() => { ${drop}; dropOn(document.querySelector('.drop')) })()`)
  expect(await page.getByLabel('What it has').inputValue()).toBe('categories')
  await page.route('**/admin/import?*', route => route.abort(), { times: 1 })
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('The connection was lost. Nothing was imported').waitFor()
  await page.getByText('The server cannot be reached').waitFor()
  const ended = { status: 401, json: { detail: 'Log in first' } }
  await page.route('**/admin/import?list=categories&format=ndjson', route => route.fulfill(ended), { times: 1 })
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('Your session has ended.').waitFor()
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByText('Line 1').waitFor()
})

test('a link on another site opens the page that it names', async () => {
  const address = `${service.address}/admin/products/7`
  await using site = otherSite(address)
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(site.address)
  await page.getByRole('link').click()
  await page.getByRole('heading', { name: 'Spade 7', exact: true }).waitFor()
  expect(page.url()).toBe(address)
})

test('while the server is away, what is typed stays, and the list follows when it is back', async () => {
  await using watching = await open('/admin/activity')
  await using tab = await open('/admin/', PHONE)
  const { page } = tab
  await page.getByRole('link', { name: 'Edit Spade 60' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Kept')
  await service.stop()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The server cannot be reached').waitFor()
  await page.getByLabel('Search products').fill('spade 6')
  await watching.page.getByText('The server cannot be reached').waitFor()
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Kept')
  // The page says it for three seconds.
  const isBack = page.evaluate(`new Promise(resolve => {
    const place = document.getElementById('connection')
    const look = () => place.textContent.includes('The server is back') && resolve()
    new MutationObserver(look).observe(place, { childList: true })
  })`)
  service = await start()
  await isBack
  await page.waitForURL('**/?q=spade+6')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Edit Kept' }).waitFor()
})

test('without scripts, lists are searched, forms are saved, and deletions ask first', async () => {
  await using tab = await open('/admin/', { ...PHONE, javaScriptEnabled: false })
  const { page } = tab
  const show = await page.getByRole('button', { name: 'Show' }).boundingBox()
  const stars = await page.getByLabel('Stars').boundingBox()
  expect(show?.y ?? 0).toBeGreaterThan((stars?.y ?? 0) + (stars?.height ?? 0))
  await page.getByLabel('Search products').fill('spade 30')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('link', { name: 'Spade 30', exact: true }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Rake')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('Delete this for good?').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('1 deleted.').waitFor()
  expect((await api.get('/products/30')).status).toBe(404)
})

test('without scripts, an import says which lines are wrong, and then takes the corrected file for the same list', async () => {
  await using tab = await open('/admin/import', { javaScriptEnabled: false })
  const { page } = tab
  const importLines = async (lines: string) => {
    const buffer = Buffer.from(`name,description\n${lines}`)
    await page.locator('input[type=file]').setInputFiles({ name: 'lines.csv', mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Import' }).click()
  }
  await page.getByLabel('What it has').selectOption('categories')
  await importLines('Ponds,With fish\nX,Too short\n')
  await page.getByText('Line 3 name String should have at least 3 characters').waitFor()
  await importLines('Ponds,With fish\n')
  await page.getByText('1 line imported.').waitFor()
  await page.getByRole('link', { name: 'Categories', exact: true }).click()
  await page.getByRole('link', { name: 'Ponds', exact: true }).waitFor()
})

function start(): Promise<Service> {
  const flags = ['--host', '127.0.0.1', '--port', String(port), '--database', database, '--access-log', 'off']
  return startServer(['serve', ...flags])
}

function product(name: string, price: number) {
  return { name, description: 'Steel', price }
}

/** Time passes on the page only as the test says, until its clock is resumed. */
async function stopClock(page: Page): Promise<void> {
  const now = await page.evaluate<number>('Date.now()')
  await page.clock.pauseAt(now + 60_000)
}

async function open(path: string, options?: TabOptions): Promise<Tab> {
  const tab = await browser.openTab(options)
  await tab.page.goto(service.address + path)
  return tab
}

function row(page: Page, product: number) {
  return page.locator(`#products-${product}`)
}

function rows(page: Page): Promise<number> {
  return page.locator('#rows > tr').count()
}

function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.name')
}

/** What the console shows, except that a form was refused, which the browser logs by itself. */
function unexpected(tab: Tab): string[] {
  return tab.complaints().filter(complaint => !/status of 4(12|22) |Status Error Code 412/.test(complaint))
}
