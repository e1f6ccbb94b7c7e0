import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'bun'
import type { Page, Request, Route } from 'playwright-core'
import { createClient } from 'stockroom/client'
import { PHONE, screens, violations } from '../../test/harness/browser/accessibility.ts'
import { openBrowser, type Tab, type TabOptions, type TestBrowser } from '../../test/harness/browser/chromium.ts'
import { holdBack } from '../../test/harness/browser/held-answers.ts'
import { opensOtherTab } from '../../test/harness/browser/other-tab.ts'
import { reusingTabs } from '../../test/harness/browser/reused-tabs.ts'
import { type Service, startServer } from '../../test/harness/service.ts'
import { until } from '../../test/harness/until.ts'

/** Unpacking and starting a browser takes long on a busy machine. */
const BROWSER_TIMEOUT_MS = 120_000

setDefaultTimeout(BROWSER_TIMEOUT_MS)

/** A time of a page's clock. */
const FAR_AHEAD = '2100-01-01'

let browser: TestBrowser
let demo: Service
beforeAll(async () => {
  const [opened, started] = await Promise.all([
    openBrowser({ hasImages: false }),
    startServer(['demo', '--host', '127.0.0.1', '--port', '0']),
  ])
  browser = reusingTabs(opened)
  demo = started
}, BROWSER_TIMEOUT_MS)
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await demo[Symbol.asyncDispose]()
})

test('typing filters at once: products, counts and address follow, and the line of curl below gets the same', async () => {
  await using tab = await openShop()
  const { page } = tab
  await page.getByText('500 products').waitFor()
  await page.getByRole('searchbox').pressSequentially('copper kett')
  await page.getByText('2 products').waitFor()
  expect(await names(page)).toEqual(['Copper Kettle', 'Copper Kettle'])
  expect(await page.locator('mark').allTextContents()).toEqual(['Copper', 'Kettle', 'Copper', 'Kettle'])
  expect(new URL(page.url()).search).toBe('?q=copper+kett')
  // They are asked for beside the list, and may come after it.
  await until(async () => (await countOf(page, 'Coffee & Tea')) === '2')
  expect(await countOf(page, 'Garden')).toBe('0')
  const line = page.locator('#requests li', { hasText: '/products/?q=copper' }).first()
  expect(await line.locator('data').textContent()).toMatch(/^\d+ ms$/)
  const command = (await line.locator('code').textContent()) ?? ''
  const { stdout } = spawn(['bash', '-c', command.replace('curl', 'curl --silent')], { stderr: 'ignore' })
  expect(JSON.parse(await stdout.text())).toMatchObject([
    { name: 'Copper Kettle, 0.9 l' },
    { name: 'Copper Kettle, 1.5 l' },
  ])
  expect(tab.complaints()).toEqual([])
})

test('the request can be copied', async () => {
  await using tab = await openShop({ permissions: ['clipboard-read', 'clipboard-write'] })
  const first = tab.page.locator('#requests li').first()
  const line = await first.locator('code').textContent()
  // The button says for a second and a half that it has copied.
  await tab.page.clock.pauseAt(FAR_AHEAD)
  await first.getByRole('button').click()
  await first.getByText('Copied').waitFor()
  expect(await tab.page.evaluate('navigator.clipboard.readText()')).toBe(line)
})

test('category, price, stars and order are in the address, so they survive a reload, and back takes one away', async () => {
  await using tab = await openShop()
  const { page } = tab
  const all = (await names(page)).join()
  await page.getByLabel('Garden').focus()
  await page.keyboard.press('Space')
  await page.getByText('54 products').waitFor()
  await page.getByText('$40 to $80').click()
  await page.getByText('4 stars').locator('..').click()
  await page.getByRole('combobox').selectOption('Lowest price')
  await page.locator('#products[aria-busy=false]').waitFor()
  const { search } = new URL(page.url())
  expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
    category_id: '3',
    price: '40-80',
    min_rating: '4',
    sort: 'price',
  })
  await page.reload()
  await page.locator('#products li').first().waitFor()
  expect(await page.getByLabel('Garden').isChecked()).toBe(true)
  expect(await page.getByRole('combobox').inputValue()).toBe('price')
  const shown = await page.locator('#products li').evaluateAll(items => items.map(item => Number(item.dataset.price)))
  expect(shown.length).toBeGreaterThan(2)
  expect(shown.every(price => price >= 40 && price < 80)).toBe(true)
  await page.goBack()
  expect(new URL(page.url()).searchParams.has('sort')).toBe(false)
  await page.getByRole('link', { name: 'Clear all' }).click()
  await page.getByText('500 products').waitFor()
  expect(new URL(page.url()).search).toBe('')
  expect((await names(page)).length).toBe(all.split(',').length)
  expect(tab.complaints()).toEqual([])
})

test('“Show more” adds the next page, or opens it in another tab, and its address has all that is shown', async () => {
  await using tab = await openShop({ isNew: true })
  const { page } = tab
  expect(await opensOtherTab(page.getByRole('link', { name: 'Show more' }))).toBe(true)
  await page.getByRole('link', { name: 'Show more' }).click()
  await page.locator('#products li').nth(47).waitFor()
  expect(
    new Set(await page.locator('#products li').evaluateAll(items => items.map(item => item.dataset.id))).size,
  ).toBe(48)
  await page.reload()
  await page.locator('#products li').nth(47).waitFor()
})

test('a double click on “Show more” adds one page, and “Send the review” sends one review and keeps what is typed and chosen meanwhile', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  const clickTwice = async (address: RegExp, name: RegExp, meanwhile = async () => {}) => {
    const first = await holdBack(page, address)
    await page.getByText(name).dblclick()
    await meanwhile()
    first.letPass()
  }
  const asked = (address: RegExp) => tab.requests().filter(one => address.test(one)).length
  await clickTwice(/\/products\/\?.*cursor=/, /Show more/)
  await page.locator('#products li').nth(47).waitFor()
  expect(asked(/cursor=/)).toBe(1)
  await page.locator('#products a').first().click()
  await page.locator('#reviews li').nth(9).waitFor()
  await clickTwice(/\/reviews\/.*cursor=/, /Show more/)
  await page.locator('#reviews li').nth(10).waitFor()
  expect(asked(/reviews.*cursor=/)).toBe(1)
  await page.getByRole('radio', { name: '4 stars' }).check()
  const comment = page.getByRole('textbox')
  await comment.fill('Once is enough')
  await clickTwice(/\/reviews\/$/, /Send the review/, async () => {
    await comment.pressSequentially(', or not')
    await page.getByRole('radio', { name: '2 stars' }).check()
  })
  await page.getByText('Thank you.').waitFor()
  expect(await comment.inputValue()).toBe(', or not')
  expect(await page.getByRole('radio', { name: '2 stars' }).isChecked()).toBe(true)
  expect(asked(/\/reviews\/$/)).toBe(1)
  expect(tab.complaints()).toEqual([])
})

test('what the shop refuses is said: the switch, more products, and reviews', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  await page.route(/cursor=|busy/, route => route.fulfill({ status: 404, json: { detail: 'Gone' } }))
  const said = () => page.getByText('The shop does not answer').waitFor()
  await page.getByRole('switch').press('Space')
  await said()
  expect(await page.getByRole('switch').getAttribute('aria-checked')).toBe('false')
  await page.reload()
  await page.getByRole('link', { name: 'Show more' }).click()
  await said()
  await page.route(/q=refused/, route => route.fulfill({ status: 404, json: { detail: 'Gone' } }))
  await page.getByRole('searchbox').fill('refused')
  await page.locator('#products[aria-busy=false]').waitFor()
  await said()
  await page.locator('#products a').first().click()
  await page.locator('#reviews li').first().waitFor()
  await page.getByRole('link', { name: 'Show more' }).click()
  await said()
  await page.route(/products\/\d+\?/, route => route.fulfill({ status: 404, json: { detail: 'Product not found' } }))
  await page.reload()
  await said()
  expect(tab.complaints().filter(complaint => !complaint.includes('status of 404'))).toEqual([])
})

test('a tile shows the whole name of a product, however many commas it has', async () => {
  const shop = createClient(demo.address)
  const product = { name: 'Salt, Pepper, Chili', description: 'Hot', price: 5 }
  const { id } = await shop.products.create(product)
  await using tab = await openShop()
  await tab.page.getByRole('searchbox').fill('hot salt')
  const heading = tab.page.locator(`#products li[data-id="${id}"] h2`)
  await heading.waitFor()
  expect(await heading.textContent()).toBe('Salt Pepper, Chili')
  await shop.products.delete(id)
})

test('a name, a description and a comment are written from right to left if they are in Arabic', async () => {
  const shop = createClient(demo.address)
  const { id } = await shop.products.create({ name: 'مجرفة من الفولاذ', description: 'حادة وخفيفة', price: 5 })
  await shop.reviews.create({ product_id: id, user_id: 1, rating: 5, comment: 'ممتاز' })
  await using tab = await openShop()
  const { page } = tab
  const isFromRight = (text: string) =>
    page
      .getByText(text)
      .first()
      .evaluate(one => one.matches(':dir(rtl)'))
  await page.getByRole('searchbox').fill('مجرفة')
  await page.getByText('1 product', { exact: true }).waitFor()
  expect(await isFromRight('مجرفة')).toBe(true)
  const field = (name: string) => page.locator(`[name="${name}"]`).evaluate(one => one.matches(':dir(rtl)'))
  expect(await field('q')).toBe(true)
  await page.locator('#products a').click()
  await page.getByRole('textbox').fill('ممتاز')
  expect(await field('comment')).toBe(true)
  for (const text of ['مجرفة', 'حادة', 'ممتاز']) expect(await isFromRight(text), text).toBe(true)
  await shop.products.delete(id)
})

test('a search without results says so', async () => {
  await using tab = await openShop()
  await tab.page.getByRole('searchbox').fill('submarine')
  await tab.page.getByText('Nothing found.').waitFor()
  expect(await names(tab.page)).toEqual([])
})

test('a review is shown with its stars and counted; another filter of the histogram is one click away', async () => {
  await using tab = await openShop()
  const { page } = tab
  await page.locator('#products a').first().click()
  await page.locator('#reviews li').first().waitFor()
  const counts = async () =>
    (await page.locator('.histogram a > :last-child').allTextContents()).map(text => Number.parseInt(text, 10))
  const [five = 0] = await counts()
  await page.getByRole('radio', { name: '5 stars' }).check()
  await page.getByRole('textbox').fill('Better than <b>ever</b>')
  await page.getByRole('button', { name: 'Send the review' }).click()
  await page.getByText('Thank you.').waitFor()
  await page.locator('#reviews li', { hasText: 'Better than <b>ever</b>' }).waitFor()
  expect((await counts())[0]).toBe(five + 1)
  await page.locator('.histogram a').nth(4).click()
  await page.waitForURL(/rating=1/)
  expect(tab.complaints()).toEqual([])
})

test('once reviews are shown again, nothing says that the shop does not answer, and the focus stays when all are shown', async () => {
  const shop = createClient(demo.address)
  const { id } = await shop.products.create({ name: 'Reviewed', description: 'Soon gone', price: 1 })
  const review = { product_id: id, user_id: 1, rating: 4, comment: 'One of many' }
  await shop.reviews.createMany(Array.from({ length: 12 }, () => review))
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  await page.goto(`${demo.address}/shop/${id}`)
  await page.locator('#reviews li').first().waitFor()
  const refuse = (route: Route) => route.fulfill({ status: 404, body: '{"detail":"Not Found"}' })
  await page.route(/products\/\d+\?fields/, refuse)
  await page.locator('.histogram a').first().click()
  await page.getByText('The shop does not answer').waitFor()
  await page.unroute(/products\/\d+\?fields/, refuse)
  await page.locator('.histogram a').nth(1).click()
  await page.getByText('The shop does not answer').waitFor({ state: 'detached', timeout: 5_000 })
  // As after a hundred clicks on “Show more”.
  await page.goto(`${demo.address}/shop/${id}?limit=1010`)
  await page.locator('#reviews li').nth(11).waitFor({ timeout: 5_000 })
  await page.goto(`${demo.address}/shop/${id}?limit=11`)
  await page.getByRole('link', { name: 'Show more' }).click()
  await page.locator('#reviews:focus').waitFor({ timeout: 5_000 })
  await shop.products.delete(id)
})

test('the last filter of the histogram counts, even if the answer to the one before comes later, and the focus stays', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  await page.locator('#products a').first().click()
  await page.locator('#reviews li').first().waitFor()
  const over = Promise.withResolvers<void>()
  const fiveStars = /reviews.*rating=5/
  const later = await holdBack(page, fiveStars)
  const end = (request: Request) => fiveStars.test(request.url()) && over.resolve()
  page.on('requestfinished', end).on('requestfailed', end)
  const choose = (stars: string) => page.locator('#histogram a', { hasText: stars }).click()
  await choose('5 stars')
  await choose('4 stars')
  await page.locator('#histogram [aria-current]', { hasText: '4 stars' }).waitFor()
  const shown = await page.locator('#reviews').innerHTML()
  later.letPass()
  await over.promise
  // Enough for the page to show it.
  await page.evaluate('new Promise(resolve => setTimeout(resolve, 100))')
  expect(await page.locator('#reviews').innerHTML()).toBe(shown)
  const focused = () => page.locator('#histogram a:focus').innerText()
  await page.keyboard.press('Enter')
  await page.locator('#histogram [aria-current]').waitFor({ state: 'detached' })
  expect(await focused()).toStartWith('4')
  await choose('4 stars')
  await page.locator('#histogram [aria-current]').waitFor()
  await page.keyboard.press('Tab')
  await page.evaluate(`document.querySelector('#histogram a').className = 'old'`)
  const product_id = Number(new URL(page.url()).pathname.replace('/shop/', ''))
  await createClient(demo.address).reviews.create({ product_id, user_id: 1, rating: 3, comment: 'Meanwhile' })
  await page.locator('#histogram .old').waitFor({ state: 'detached' })
  expect(await focused()).toStartWith('3')
  expect(tab.complaints()).toEqual([])
})

test('“Show more” adds to a list that is being read again, before or after it was pressed', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  const { products, reviews } = createClient(demo.address)
  const showMoreWhileRead = async (list: RegExp, change: () => Promise<unknown>) => {
    const read = await holdBack(page, list)
    await change()
    await read.isAsked
    const next = page.waitForResponse(/cursor=/)
    await page.getByRole('link', { name: 'Show more' }).click()
    await next
    await page.waitForURL(/limit=/)
    read.letPass()
  }
  const { id } = await products.create({ name: 'Read again', description: 'Soon gone', price: 1 })
  await showMoreWhileRead(/\/products\/\?(?!.*cursor)/, () => products.delete(id))
  await page.locator('#products[aria-busy=false]').waitFor()
  expect(await page.locator('#products li').count()).toBe(48)
  const more = await holdBack(page, /cursor=/)
  await page.getByRole('link', { name: 'Show more' }).click()
  await more.isAsked
  await page.evaluate(`document.querySelector('#products li').className = 'old'`)
  const other = await products.create({ name: 'Read again', description: 'Soon gone', price: 1 })
  await page.locator('#products .old').waitFor({ state: 'detached' })
  more.letPass()
  await page.locator('#products li').nth(71).waitFor({ timeout: 5_000 })
  await products.delete(other.id)
  const product = Number(await page.locator('#products li').first().getAttribute('data-id'))
  await page.goto(`${demo.address}/shop/${product}`)
  await page.locator('#reviews li').nth(9).waitFor()
  const review = { product_id: product, user_id: 1, rating: 3, comment: 'Written meanwhile' }
  await showMoreWhileRead(/\/reviews\/products\/\d+\?(?!.*cursor)/, () => reviews.create(review))
  await page.getByText('Written meanwhile').waitFor()
  expect(await page.locator('#reviews li').count()).toBe(20)
})

test('a server without a change feed and without facets still has a shop', async () => {
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  for (const path of ['**/events?*', '**/facets/**'])
    await page.route(path, route => route.fulfill({ status: 404, json: { detail: 'Not Found' } }))
  await page.goto(demo.address)
  await page.getByText('500 products').waitFor()
  await page.getByText('no change feed').waitFor()
  expect(await countOf(page, 'Garden')).toBe('')
})

test('axe finds nothing wrong with shop and product, on a phone and a desktop, light and dark', async () => {
  for (const options of screens()) {
    await using tab = await openShop(options)
    const { page } = tab
    // Most tiles are alike, and axe looks at each for long.
    await page.evaluate(`for (const tile of document.querySelectorAll('#products li:nth-child(n + 6)')) tile.remove()`)
    expect(await violations(page), JSON.stringify(options)).toEqual([])
    await page.goto(`${demo.address}/shop/7`)
    await page.locator('#reviews li').first().waitFor()
    expect(await violations(page), JSON.stringify(options)).toEqual([])
  }
})

test('a tile shows the whole rating in one line, and with the text spacing that a reader sets nothing of it or of a changed price is cut off', async () => {
  await using tab = await openShop(PHONE)
  const { page } = tab
  const { edit } = createClient(demo.address).products
  const id = Number(await page.locator('#products li').nth(2).getAttribute('data-id'))
  await edit(id, product => ({ ...product, price: product.price * 1.99 }))
  await page.locator(`[data-id="${id}"] .price span`).waitFor()
  const lines = `[...document.querySelectorAll('#products .rating b')].map(mean => mean.nextElementSibling.offsetTop - mean.offsetTop)`
  expect(new Set(await page.evaluate<number[]>(lines))).toEqual(new Set([0]))
  await setTextSpacing(page)
  const cut = await page.evaluate(`
    const tiles = [...document.querySelectorAll('#products li')]
    tiles.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(tile => tile.textContent)
  `)
  expect(cut).toEqual([])
})

test('on a phone, the order and the hint in the search are whole, also with the text spacing that a reader sets', async () => {
  await using tab = await openShop(PHONE)
  const { page } = tab
  const missing = `
    const [input, select] = document.querySelectorAll('.search :is(input, select)')
    const { width } = select.getBoundingClientRect()
    select.style.width = 'max-content'
    const wanted = select.getBoundingClientRect().width
    select.style.width = ''
    const hint = Object.assign(document.createElement('span'), { textContent: input.placeholder })
    hint.style.font = getComputedStyle(input).font
    document.body.append(hint)
    const { paddingLeft, paddingRight } = getComputedStyle(input)
    const room = input.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)
    const hinted = hint.getBoundingClientRect().width
    hint.remove();
    [Math.max(0, wanted - width), Math.max(0, hinted - room)]
  `
  expect(await page.evaluate<number[]>(missing)).toEqual([0, 0])
  await setTextSpacing(page)
  expect(await page.evaluate<number[]>(missing)).toEqual([0, 0])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
})

test('with forced colours, a chosen rating and a switch that is on look chosen', async () => {
  await using tab = await browser.openTab({ forcedColors: 'active' })
  const { page } = tab
  await page.goto(`${demo.address}/shop/7`)
  const background = (place: number) =>
    page.evaluate(`getComputedStyle(document.querySelectorAll('.rate label')[${place}]).backgroundColor`)
  await page.getByRole('radio', { name: '4 stars' }).check()
  expect(await background(3)).not.toBe(await background(2))
  await page.goto(demo.address)
  const knob = `getComputedStyle(document.querySelector('#busy'), '::after').backgroundImage`
  expect(await page.evaluate(knob)).toStartWith('radial-gradient')
})

test('on a phone, the bar at the bottom covers nothing that has the focus, and only the change that it shows can have it', async () => {
  await using tab = await openShop(PHONE)
  const { page } = tab
  const { edit } = createClient(demo.address).products
  for (const id of [1, 2]) await edit(id, product => ({ ...product, price: 10 + id }))
  await page.locator('#events li').nth(1).waitFor({ state: 'attached' })
  await until(async () => {
    await page.getByRole('switch').focus()
    await page.keyboard.press('Tab')
    // Unless the shop changes a price just then, which the bar shows instead.
    return (await page.locator('#events a:focus').count()) === 1
  })
  for (let tiles = 0; tiles < 8; tiles += 1) {
    await page.keyboard.press('Tab')
    const isInSight = await page.evaluate<boolean>(`
      const { left, top, right, bottom } = document.activeElement.getBoundingClientRect()
      document.activeElement.matches('#products a') &&
        document.activeElement === document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    `)
    expect(isInSight, `tile ${tiles}`).toBe(true)
  }
})

test('both pages fit the width of a phone, and load nothing from elsewhere', async () => {
  await using tab = await openShop(PHONE)
  const { page } = tab
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  await expectPictures(page)
  const { products, reviews } = createClient(demo.address)
  const { id } = await products.create({ name: 'W'.repeat(50), description: 'W'.repeat(999), price: 1_234_567.89 })
  await reviews.create({ product_id: id, user_id: 1, rating: 1, comment: 'W'.repeat(999) })
  for (const product of [7, id]) {
    await page.goto(`${demo.address}/shop/${product}`)
    await page.locator('#reviews li').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth'), `product ${product}`).toBe(360)
    await expectPictures(page)
  }
  expect(await page.locator('#rating').textContent()).toEndWith('(1 review)')
  await page.getByRole('link', { name: '1 star: 1 review', exact: true }).waitFor()
  expect(
    new Set(
      tab
        .requests()
        .map(address => new URL(address).origin)
        .filter(origin => origin !== 'null'),
    ),
  ).toEqual(new Set([demo.address]))
  expect(tab.complaints()).toEqual([])
  // The page asks for what is deleted, and the browser complains of a 404.
  await products.delete(id)
})

test('a price that anyone changes changes in all tabs, glows, and is in the list of events', async () => {
  await using one = await openShop({ isNew: true, reducedMotion: 'no-preference' })
  await using other = await openShop({ isNew: true })
  // The price glows for two and a half seconds.
  for (const { page } of [one, other]) await page.clock.pauseAt(FAR_AHEAD)
  const id = await one.page.locator('#products li').nth(20).getAttribute('data-id')
  const edit = createClient(demo.address).products.edit
  const { name } = await edit(Number(id), product => ({ ...product, price: 4_711.5 }))
  for (const { page } of [one, other]) {
    await page.locator(`#products .changed[data-id="${id}"]`, { hasText: '$4,711.50' }).waitFor()
    await page.locator('#events li', { hasText: name }).getByText('$4,711.50').waitFor()
  }
  expect(one.complaints()).toEqual([])
})

test('a review that somebody writes changes the stars in all tabs, and the list of events says how many it gives', async () => {
  await using tab = await openShop()
  const item = tab.page.locator('#products li').nth(2)
  const before = await item.locator('.rating').textContent()
  const review = { product_id: Number(await item.getAttribute('data-id')), user_id: 1, rating: 1, comment: 'No' }
  await createClient(demo.address).reviews.create(review)
  await tab.page.locator('#events .review', { hasText: '1 of 5 stars' }).waitFor()
  await until(async () => (await item.locator('.rating').textContent()) !== before)
})

test('many reviews in the list of events leave no empty space below the page', async () => {
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(`${demo.address}/shop/7`)
  await page.getByText('live', { exact: true }).waitFor()
  const { reviews } = createClient(demo.address)
  const review = { product_id: 8, user_id: 1, rating: 3, comment: 'Good enough' }
  for (let count = 0; count < 30; count += 1) await reviews.create(review)
  await page.locator('#events li', { hasText: '3 of 5 stars' }).nth(25).waitFor({ state: 'attached' })
  const below = 'document.documentElement.scrollHeight - Math.ceil(document.body.getBoundingClientRect().bottom)'
  expect(await page.evaluate<number>(below)).toBeLessThanOrEqual(0)
})

test('a product that somebody adds shows the list again, and the focus stays where it was in it', async () => {
  await using tab = await openShop()
  const { page } = tab
  const link = page.locator('#products a').nth(2)
  await link.focus()
  await page.evaluate(`document.querySelector('#products li').className = 'old'`)
  const { products } = createClient(demo.address)
  const { id } = await products.create({ name: 'Short-lived', description: 'Soon gone', price: 1 })
  await page.locator('#products .old').waitFor({ state: 'detached' })
  await page.locator('#products[aria-busy=false]').waitFor()
  expect(await page.evaluate(`document.activeElement.getAttribute('href')`)).toBe(await link.getAttribute('href'))
  await products.delete(id)
})

test('a hidden tab closes its stream, and goes on where it was when it is shown again', async () => {
  await using tab = await openShop()
  const { page } = tab
  const item = page.locator('#products li').nth(23)
  const id = Number(await item.getAttribute('data-id'))
  await setHidden(page, true)
  await page.getByText('paused').waitFor()
  await createClient(demo.address).products.edit(id, product => ({ ...product, price: 1_234.5 }))
  await setHidden(page, false)
  await page.locator(`#products [data-id="${id}"]`, { hasText: '$1,234.50' }).waitFor()
})

test('a tab that is hidden and shown again and again before its stream is open follows once', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  await setHidden(page, true)
  await page.getByText('paused').waitFor()
  const stream = await holdBack(page, '**/events?*')
  for (const isHidden of [false, true, false]) await setHidden(page, isHidden)
  stream.letPass()
  await page.getByText('live', { exact: true }).waitFor()
  const id = Number(await page.locator('#products li').nth(20).getAttribute('data-id'))
  await createClient(demo.address).products.edit(id, product => ({ ...product, price: 4_567.5 }))
  const lines = page.locator('#events li', { hasText: '$4,567.50' })
  await lines.first().waitFor()
  // A second stream would send the event at the same moment.
  await page.evaluate('new Promise(resolve => setTimeout(resolve, 100))')
  expect(await lines.count()).toBe(1)
})

test('a page says when its stream is lost and then asks again for what failed, does not look for it while it is hidden, and looks again and again while it is shown', async () => {
  await using tab = await browser.openTab({ hasRoutes: true })
  const { page } = tab
  const ready = 'retry: 10\nevent: ready\nid: 1-1.abc\ndata: {"resumed":false}\n\n'
  const replies = [{ contentType: 'text/event-stream', body: ready }]
  await page.route('**/events?*', route => route.fulfill(replies.pop() ?? { status: 502 }))
  await page.goto(demo.address)
  await page.locator('#live-state[data-is=lost]').getByText('connecting').waitFor()
  await page.route('**/products/?*', route => route.fulfill({ status: 400, json: { detail: 'Away' } }))
  await page.getByRole('searchbox').fill('copper')
  const failure = page.getByText('The shop does not answer')
  await failure.waitFor()
  await page.unroute('**/products/?*')
  replies.push({ contentType: 'text/event-stream', body: ready })
  await failure.waitFor({ state: 'detached', timeout: 5_000 })
  // It is looked for at another tab when the server is back.
  await page.locator('#live-state[data-is=lost]').waitFor()
  await page.route('**/products/?*', route => route.fulfill({ status: 400, json: { detail: 'Away' } }))
  await page.getByRole('searchbox').fill('')
  await failure.waitFor()
  await setHidden(page, true)
  await page.unroute('**/products/?*')
  replies.push({ contentType: 'text/event-stream', body: ready })
  await setHidden(page, false)
  await failure.waitFor({ state: 'detached', timeout: 5_000 })
  await setHidden(page, true)
  await page.getByText('paused').waitFor()
  await setHidden(page, false)
  // As when a computer wakes up, whose network is there a little later.
  await page.getByText('not connected').waitFor()
  const item = page.locator('#products li').nth(21)
  const id = Number(await item.getAttribute('data-id'))
  await createClient(demo.address).products.edit(id, product => ({ ...product, price: 3_456.5 }))
  await page.unroute('**/events?*')
  await page.getByText('live', { exact: true }).waitFor({ timeout: 10_000 })
  await page.locator(`#products [data-id="${id}"]`, { hasText: '$3,456.50' }).waitFor()
})

test('a tab that is opened in the background holds no stream, and shows the changes since when it is looked at', async () => {
  await using tab = await browser.openTab({ isNew: true })
  const { page } = tab
  await page.addInitScript(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`)
  await page.goto(demo.address)
  const item = page.locator('#products li').nth(22)
  const id = Number(await item.getAttribute('data-id'))
  await page.getByText('paused').waitFor()
  await createClient(demo.address).products.edit(id, product => ({ ...product, price: 2_345.5 }))
  await setHidden(page, false)
  await page.locator(`#products [data-id="${id}"]`, { hasText: '$2,345.50' }).waitFor()
  await page.goto(`${demo.address}/shop/${id}`)
  await page.getByText('paused').waitFor()
  await createClient(demo.address).products.edit(id, product => ({ ...product, price: 5_432.5 }))
  await setHidden(page, false)
  await page.locator('#price', { hasText: '$5,432.50' }).waitFor()
})

test('the link to all products leads to the list as it was filtered, and not to another site', async () => {
  await using tab = await openShop({ hasRoutes: true })
  const { page } = tab
  const way = async () => {
    await page.locator('#reviews li').first().waitFor()
    return page.locator('#back').evaluate(link => link.href)
  }
  await page.getByLabel('Garden').check()
  await page.locator('#products a').first().click()
  expect(await way()).toBe(`${demo.address}/?category_id=3`)
  const body = `<a href="${demo.address}/shop/7">A product</a>`
  await page.route('http://other.test/', route => route.fulfill({ contentType: 'text/html', body }))
  await page.goto('http://other.test/')
  await page.getByText('A product').click()
  expect(await way()).toBe(`${demo.address}/`)
})

test('every category that is listed has its count, however many there are', async () => {
  const { categories, products } = createClient(demo.address)
  const name = (place: number) => `Extra (${place})`
  const extra = Array.from({ length: 42 }, (_, place) => ({ name: name(place), description: 'Soon gone' }))
  const { ids } = await categories.createMany(extra)
  const one = { name: 'Short-lived', description: 'Soon gone', price: 1 }
  const made = await products.createMany([...ids.map(id => ({ ...one, category_id: id })), one])
  await using tab = await openShop()
  await until(async () => (await countOf(tab.page, 'Extra (0)')) === '1')
  expect(await countOf(tab.page, 'Extra (41)')).toBe('1')
  await Promise.all([...made.ids.map(id => products.delete(id)), ...ids.map(id => categories.delete(id))])
})

test('“Make it busy” fills the list of events with prices and reviews', async () => {
  await using tab = await openShop()
  const { page } = tab
  const busy = page.getByRole('switch', { name: 'Make it busy' })
  await busy.press('Space')
  await page.locator('#events .review').nth(1).waitFor()
  await page.locator('#events .updated').nth(4).waitFor()
  expect(await busy.getAttribute('aria-checked')).toBe('true')
  await page.locator('#products a').first().click()
  await page.locator('#reviews li').first().waitFor()
  await page.goBack()
  await page.locator('[aria-checked=true]').waitFor({ timeout: 5_000 })
  // In another tab, while the browser keeps this one in its memory.
  await fetch(`${demo.address}/busy`, { method: 'PUT', body: 'false' })
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await page.locator('[aria-checked=false]').waitFor({ timeout: 5_000 })
})

test('“Make it busy” goes off when the shop has calmed down by itself', async () => {
  await using tab = await browser.openTab({ hasRoutes: true, isNew: true })
  const { page } = tab
  await page.clock.install()
  await page.goto(demo.address)
  await page.getByRole('switch', { name: 'Make it busy' }).press('Space')
  await page.locator('[aria-checked=true]').waitFor()
  await page.route('**/busy', route => route.fulfill({ status: 503, json: { detail: 'One moment' } }), { times: 1 })
  const failure = page.waitForResponse(answer => answer.status() === 503)
  await page.clock.runFor(10_000)
  await (await failure).finished()
  expect(await page.getByRole('switch').getAttribute('aria-checked')).toBe('true')
  const calm = { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: 'false' }
  expect((await fetch(`${demo.address}/busy`, calm)).status).toBe(200)
  await page.clock.runFor(10_000)
  await page.locator('[aria-checked=false]').waitFor()
})

/** As in WCAG 2, 1.4.12. */
function setTextSpacing(page: Page): Promise<unknown> {
  return page.evaluate(`
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }')
    document.adoptedStyleSheets = [sheet]
  `)
}

async function openShop(options?: TabOptions): Promise<Tab> {
  const tab = await browser.openTab(options)
  await tab.page.goto(demo.address)
  await tab.page.locator('#products li').first().waitFor()
  return tab
}

/** The browser leaves them out. */
async function expectPictures(page: Page): Promise<void> {
  const addresses = await page.locator('img:not([src^="data:"])').evaluateAll(images => images.map(image => image.src))
  expect(addresses.length).toBeGreaterThan(0)
  for (const address of addresses) expect(address).toStartWith(`${demo.address}/pictures/`)
  const answer = await fetch(addresses[0] ?? '')
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'image/svg+xml'])
}

async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  `)
}

function names(page: Page): Promise<string[]> {
  return page
    .locator('#products h2')
    .evaluateAll(titles => titles.map(title => title.innerText.split('\n')[0]?.trim() ?? ''))
}

async function countOf(page: Page, choice: string): Promise<string | null> {
  return page.locator('.choice', { hasText: choice }).locator('data').textContent()
}
