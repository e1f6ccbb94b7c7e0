import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { NDJSON } from '../../../test/harness/catalog/keyed.ts'
import { follow, getAtLast, idsOf, nextOf } from '../../../test/harness/catalog/list-pages.ts'
import type { Answer, Client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

type Text = readonly [name: string, description: string]

const Part = z.strictObject({ text: z.string(), match: z.boolean() })
const Highlighted = z.array(
  z.strictObject({
    id: z.int(),
    highlights: z.strictObject({ name: z.array(Part), description: z.array(Part) }).nullable(),
  }),
)

onEachEngine('searches', api => {
  test('all words must match, anywhere in name and description, the last one as a prefix', async () => {
    const [spade, spadework, rake, bucket] = await created(api, [
      ['Alphaspade', 'Of steel, with an ash handle'],
      ['Alphaspadework', 'A book of 300 pages'],
      ['Alpharake', 'Goes with the alphaspade; steel'],
      ['Alphabucket', 'Zinc'],
    ])
    expect(await found(api, 'alphaspade')).toEqual([spade, spadework, rake])
    expect(await found(api, 'alphaspade ')).toEqual([spade, rake])
    expect(await found(api, 'alphaspade.')).toEqual([spade, rake])
    expect(await found(api, 'STEEL alphaspa')).toEqual([spade, rake])
    expect(await found(api, 'alphaspa steel')).toEqual([])
    expect(await found(api, 'alpha')).toEqual([spade, spadework, rake, bucket])
    expect(await found(api, 'alphaspade alphaspade book')).toEqual([])
    expect(await found(api, 'lphaspade')).toEqual([])
  })

  test('a long beginning finds all words that begin so, however many there are', async () => {
    const numbers = Array.from({ length: 70 }, (_, at) => String(at).padStart(2, '0'))
    const many = await created(
      api,
      numbers.map(number => [`Copper omegapart${number}`, '']),
    )
    const [shortest, ofName, , last, within, before] = await created(api, [
      ['Brass', 'Has omegapart'],
      ['Omegaparts, assorted', ''],
      ['Brass', 'Has an omegapar and an omegaparu'],
      // One of the last letters that there are.
      ['Brass', 'Has omegapart6𐐨'],
      ['Box of 𐐨mega', ''],
      ['𐐨mega box', ''],
    ])
    expect(await found(api, '𐐨mega bo')).toEqual([before, within])
    expect(await found(api, 'omegapart0')).toEqual(many.slice(0, 10))
    expect(await found(api, 'omegapart6')).toEqual([...many.slice(60, 70), last])
    expect(await found(api, 'omegapart')).toEqual([ofName, ...many, shortest, last])
    expect(await found(api, 'copper omegapart')).toEqual(many)
    expect(await found(api, 'omegapartz')).toEqual([])
  })

  test('accents, case and letters like ß do not matter', async () => {
    const [gruen, strasse, ligature, full] = await created(api, [
      ['Grüner Bêta-Tisch', 'Eiche'],
      ['Betastraße', 'Ein Spiel'],
      ['Betaﬁsh', 'Œuvre'],
      ['Ｂｅｔａｗｉｄｅ', 'Wide'],
    ])
    expect(await found(api, 'GRUNER beta')).toEqual([gruen])
    expect(await found(api, 'BETASTRASSE ')).toEqual([strasse])
    expect(await found(api, 'betastraß')).toEqual([strasse])
    expect(await found(api, 'betafish')).toEqual([ligature])
    expect(await found(api, 'oeuvre betafi')).toEqual([ligature])
    expect(await found(api, 'betawide')).toEqual([full])
  })

  test('words with hyphens or apostrophes are found by their parts and as one', async () => {
    const [hyphen, joined, apart, mens] = await created(api, [
      ['Gamma T-shirt', 'Cotton'],
      ['Gamma Tshirt', 'Cotton'],
      ['Gamma T shirt', 'Cotton'],
      ["Gamma Men's belt", 'Leather'],
    ])
    // The name of the joined one does not begin with `gamma t shirt`.
    expect(await found(api, 'gamma t-shirt ')).toEqual([hyphen, apart, joined])
    expect(await found(api, 'gamma tshirt ')).toEqual([joined, hyphen])
    expect(await found(api, 'gamma t-sh')).toEqual([hyphen, apart, joined])
    expect(await found(api, 'gamma shirt ')).toEqual([hyphen, apart])
    for (const q of ["gamma men's ", 'gamma men’s ', 'gamma mens ', 'gamma men ']) {
      expect(await found(api, q), q).toEqual([mens])
    }
  })

  test('scripts without spaces are found by any run of their characters', async () => {
    const [kettle, pot] = await created(api, [
      ['電気ケトル', '水を沸かす'],
      ['กาน้ำร้อน', 'สำหรับชา'],
    ])
    for (const q of ['電気', 'ケトル', '電', 'トル', '沸かす', '電気 ケトル'])
      expect(await found(api, q), q).toEqual([kettle])
    expect(await found(api, '気電')).toEqual([])
    for (const q of ['กาน้ำ', 'ชา']) expect(await found(api, q), q).toEqual([pot])
  })

  test('a name that begins with the words comes first, then names that have them, then other texts, each by id', async () => {
    const made = await created(api, [
      ['Delta rake', 'For the zinc bucket'],
      ['Delta zinc bucket', 'Round'],
      ['Zinc bucket delta', 'Round'],
      ['Zinc bucketful delta', 'Round'],
      ['Bucket of zinc delta', 'Round'],
      ['Zinc delta', 'For a bucket'],
      ['The zinc bucket delta', 'Round'],
      ['Zinc-bucket delta', 'Round'],
      ['Zinc bucketful and bucket delta', 'Round'],
    ])
    const at = (...places: number[]) => places.map(place => made[place] ?? 0)
    const delta = async (q: string) => (await found(api, q)).filter(id => made.includes(id))
    expect(await delta('zinc bucket')).toEqual(at(2, 3, 7, 8, 1, 4, 6, 0, 5))
    expect(await delta('zinc bucket ')).toEqual(at(2, 7, 1, 4, 6, 8, 0, 5))
    expect(await delta('zinc')).toEqual(at(2, 3, 5, 7, 8, 1, 4, 6, 0))
    const whole = at(2, 7, 1, 4, 6, 8, 0, 5)
    expect(await delta('zinc bucket delta')).toEqual(whole)
    for (let skip = 1; skip <= whole.length; skip += 1) {
      const shown = await ids(api, `/products/?q=zinc+bucket+delta&skip=${skip}&limit=3`)
      expect(shown, `${skip}`).toEqual(whole.slice(skip, skip + 3))
    }
    expect(await delta('zi')).toEqual(at(2, 3, 5, 7, 8, 1, 4, 6, 0))
  })

  test('a text without a word filters nothing, and only the first 16 words count', async () => {
    const [many] = await created(api, [['Epsilon', 'a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12 m13 n14 o15']])
    const sixteen = 'epsilon a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12 m13 n14 o15'
    expect(await found(api, `${sixteen} nowhere`)).toEqual([many])
    expect(await found(api, sixteen.replace('o15', 'nowhere'))).toEqual([])
    const all = await ids(api, '/products/?limit=1000')
    for (const q of ['', ' ', '!!!', '"*"', '---', '\u0301']) {
      expect(await found(api, q), q).toEqual(all)
      expect(await ids(api, `/products/?sort=relevance&limit=1000&q=${encodeURIComponent(q)}`)).toEqual(all)
    }
  })

  test('`relevance` is the order of ids without a word; with one, `after_id` and other orders are as for any list', async () => {
    const [first, second, third] = await created(api, [
      ['Other zeta', 'x'],
      ['Zeta', 'x'],
      ['Zeta too', 'x'],
    ])
    expect(await ids(api, '/products/?q=zeta')).toEqual([second, third, first])
    expect(await ids(api, '/products/?q=zeta&sort=relevance')).toEqual([second, third, first])
    expect(await ids(api, '/products/?q=zeta&sort=id')).toEqual([first, second, third])
    expect(await ids(api, '/products/?q=zeta&sort=-id')).toEqual([third, second, first])
    expect(await ids(api, '/products/?q=zeta&sort=name')).toEqual([first, second, third])
    expect(await ids(api, `/products/?q=zeta&sort=id&after_id=${first}`)).toEqual([second, third])
    expect(await ids(api, `/products/?q=&sort=relevance&after_id=${first}&limit=2`)).toEqual([second, third])
    const needsIds = (path: string) => errorOf(api, path)
    const refusal = {
      type: 'value_error',
      loc: ['query', 'after_id'],
      msg: 'Value error, after_id needs the order of ids',
    }
    expect(await needsIds('/products/?q=zeta&after_id=1')).toMatchObject([refusal])
    expect(await needsIds('/products/?q=zeta&after_id=1&sort=relevance')).toMatchObject([refusal])
    expect(await needsIds('/products/?sort=-relevance')).toMatchObject([
      { type: 'literal_error', loc: ['query', 'sort'] },
    ])
    expect(await needsIds('/reviews/?sort=relevance')).toMatchObject([
      { type: 'literal_error', loc: ['query', 'sort'] },
    ])
  })

  test('pages of any size, in every order, lead through all that match, each item once', async () => {
    const { ids: made, category } = await shelf(api, 23)
    for (const sort of ['relevance', 'id', 'name', 'price', 'rating', 'reviews']) {
      const path = `/products/?q=eta&sort=${sort}`
      const whole = await ids(api, `${path}&limit=1000`)
      expect(
        whole.toSorted((one, other) => one - other),
        sort,
      ).toEqual(made)
      for (const limit of [1, 2, 5, 22, 23, 24])
        expect(await follow(api, `${path}&limit=${limit}`), sort).toEqual(whole)
      expect(await skipped(api, path, 5), sort).toEqual(whole)
      if (sort !== 'relevance') {
        const reversed = `/products/?q=eta&sort=-${sort}`
        expect(await ids(api, `${reversed}&limit=1000`)).toEqual(whole.toReversed())
        expect(await follow(api, `${reversed}&limit=4`)).toEqual(whole.toReversed())
      }
      const filtered = `${path}&category_id=${category}&min_price=3&max_price=7`
      const some = await ids(api, `${filtered}&limit=1000`)
      expect(await follow(api, `${filtered}&limit=2`)).toEqual(some)
      expect(whole.filter(id => some.includes(id))).toEqual(some)
      expect(some.length).toBeGreaterThan(2)
    }
  })

  test('`skip` passes over matches of every rank', async () => {
    const made = await created(api, [
      ['Theta one', 'x'],
      ['A theta', 'x'],
      ['Bucket', 'Theta'],
      ['Theta two', 'x'],
      ['B theta', 'x'],
      ['Rake', 'Theta'],
    ])
    const whole = [0, 3, 1, 4, 2, 5].map(place => made[place] ?? 0)
    for (let skip = 0; skip <= 7; skip += 1) {
      for (const limit of [1, 2, 3, 10]) {
        const shown = await ids(api, `/products/?q=theta&skip=${skip}&limit=${limit}`)
        expect(shown, `${skip} ${limit}`).toEqual(whole.slice(skip, skip + limit).map(Number))
      }
    }
  })

  test('a word that some of the first products have is found in all others, too', async () => {
    const products = (count: number, name: string) => Array.from({ length: count }, () => ({ ...sample.product, name }))
    const made = [
      ...products(2, 'Far from the first'),
      ...products(900, 'Other'),
      ...products(8, 'Among the first'),
      ...products(900, 'Other'),
    ]
    const body = made.map(product => `${JSON.stringify(product)}\n`).join('')
    const { status } = await api.send('/products/', { method: 'POST', headers: { 'Content-Type': NDJSON }, body })
    expect(status).toBe(200)
    const both = idsOf(await getAtLast(api, '/products/?limit=1000&q=first'))
    expect(both).toBeArrayOfSize(10)
    expect(await follow(api, '/products/?q=first&sort=-id&limit=8')).toEqual(both.reverse())
  })

  test('the best matches come first, although only others are among the first products', async () => {
    const products = (count: number, name: string, description: string) =>
      Array.from({ length: count }, () => ({ ...sample.product, name, description }))
    const made = [
      ...products(1, 'Rake', 'Upsilon and my'),
      ...products(1_050, 'Other', 'None'),
      ...products(2, 'The upsilon', 'Nothing else'),
      ...products(3, 'Upsilon', 'My'),
      ...products(2, 'Rake', 'Upsilon'),
      ...products(1, 'A upsilon', 'My'),
    ]
    const category = await api.create('/categories/', sample.category)
    const body = made.map(product => `${JSON.stringify({ ...product, category_id: category })}\n`).join('')
    const { status } = await api.send('/products/', { method: 'POST', headers: { 'Content-Type': NDJSON }, body })
    expect(status).toBe(200)
    const [first = 0] = idsOf(await getAtLast(api, `/products/?category_id=${category}&q=upsilon&sort=id`))
    const at = (place: number) => first + place
    const best = [1_053, 1_054, 1_055, 1_051, 1_052, 1_058, 0, 1_056, 1_057].map(at)
    for (const list of ['/products/?q=upsilon', `/products/?q=upsilon&category_id=${category}`]) {
      for (const limit of [1, 2, 3, 4, 6, 7, 9, 100]) {
        expect(await follow(api, `${list}&limit=${limit}`), `${list} ${limit}`).toEqual(best)
        expect(await skipped(api, list, limit), `${list} ${limit}`).toEqual(best)
      }
    }
  })

  test('a count has the whole selection, up to what was asked', async () => {
    await created(
      api,
      Array.from({ length: 7 }, (_, place): [string, string] => [`Iota ${place}`, 'Counted']),
    )
    const countOf = async (query: string) => (await api.get(`/products/?${query}`)).headers.get('X-Total-Count')
    expect(await countOf('q=iota&count=100&limit=2')).toBe('7')
    expect(await countOf('q=iota&count=7')).toBe('7')
    expect(await countOf('q=iota&count=3&skip=5')).toBe('3')
    expect(await countOf('q=iota&count=100&limit=0')).toBe('7')
    expect(await countOf('q=iota+3&count=100')).toBe('1')
    expect(await countOf('q=iota&sort=-price&count=100&min_price=5')).toBe('3')
    expect(await countOf('q=iota')).toBeNull()
    expect(await countOf('q=nowhere&count=5')).toBe('0')
    const { headers } = await api.get('/products/?q=iota&count=100&limit=2')
    expect((await api.get(nextOf({ headers } as Answer) ?? '')).headers.get('X-Total-Count')).toBe('7')
  })

  test('highlights are parts of the texts, those that match marked', async () => {
    const long = `${'Far away and long ago, '.repeat(5)}a Kappa-spáde was made of steel. ${'It is there still. '.repeat(20)}`
    const [short, extract, nothing] = await created(api, [
      ['Kappaspade', 'A kappaspade & <b>more</b>'],
      ['Tool', long],
      ['Kappaspader', 'Elsewhere'],
    ])
    const shown = async (q: string) => {
      const { body } = await api.get(`/products/?fields=id,highlights&q=${encodeURIComponent(q)}`)
      return new Map(Highlighted.parse(body).map(({ id, highlights }) => [id, highlights]))
    }
    const all = await shown('kappaspade')
    expect(all.get(Number(short))).toEqual({
      name: [{ text: 'Kappaspade', match: true }],
      description: [
        { text: 'A ', match: false },
        { text: 'kappaspade', match: true },
        { text: ' & <b>more</b>', match: false },
      ],
    })
    const parts = all.get(Number(extract))?.description ?? []
    expect(parts.filter(({ match }) => match)).toEqual([{ text: 'Kappa-spáde', match: true }])
    const text = parts.map(part => part.text).join('')
    expect(long).toContain(text)
    expect(text).toHaveLength(160)
    expect(parts[0]?.text.length).toBeLessThanOrEqual(40)
    expect(all.get(Number(nothing))?.description).toEqual([{ text: 'Elsewhere', match: false }])
    expect((await shown('kappaspade ')).has(Number(nothing))).toBe(false)
    const { body } = await api.get(`/products/?id=${short}&fields=id,highlights`)
    expect(Highlighted.parse(body)).toEqual([{ id: Number(short), highlights: null }])
  })

  test('highlights show no other member that was not asked for, and hide none that was', async () => {
    await created(api, [['Lambda', 'Described']])
    const { body } = await api.get('/products/?q=lambda&fields=highlights,price')
    const membersIn = (items: unknown) => z.array(z.record(z.string(), z.unknown())).parse(items).map(Object.keys)
    expect(membersIn(body)).toEqual([['price', 'highlights']])
    const all = await api.get('/products/?q=lambda&fields=*,highlights')
    expect(membersIn(all.body)).toEqual([['id', 'name', 'description', 'price', 'reviews', 'highlights']])
  })

  test('categories are found by name and description, users by name and e-mail address, and by nothing else', async () => {
    const category = await api.create('/categories/', { name: 'Mugarden', description: 'All for the mupatio' })
    expect(await ids(api, '/categories/?q=mugar')).toEqual([category])
    expect(await ids(api, '/categories/?q=mupatio+')).toEqual([category])
    const user = await api.create('/users/', {
      name: 'Muada Byron',
      email: 'countess@mumail.example',
      avatar: '/muavatar.png',
      password: 'mupassword secret',
    })
    for (const q of ['muada', 'countess', 'mumail', 'countess@mumail.example', 'byron mumail.ex']) {
      expect(await ids(api, `/users/?q=${encodeURIComponent(q)}`), q).toEqual([user])
    }
    for (const q of ['mupassword', 'secret', 'muavatar', 'argon2id', 'mugarden']) {
      expect(await ids(api, `/users/?q=${encodeURIComponent(q)}`), q).toEqual([])
    }
    for (const path of ['/products/', '/categories/']) {
      for (const q of ['muada', 'mumail', 'countess']) expect(await ids(api, `${path}?q=${q}`), q).toEqual([])
    }
    expect(await errorOf(api, '/reviews/?q=x', { Prefer: 'handling=strict' })).toMatchObject([
      { type: 'extra_forbidden' },
    ])
  })

  test('a word counts up to its 64th character, a description up to its 10,000th', async () => {
    const word = 'nu'.repeat(50)
    const [long] = await created(api, [['Nulong', `${word} ${'x '.repeat(4_949)}nuinside nuoutside`]])
    expect(await found(api, `${word} `)).toEqual([long])
    expect(await found(api, `${word.slice(0, 64)} `)).toEqual([long])
    expect(await found(api, `${word.slice(0, 64)}other `)).toEqual([long])
    expect(await found(api, `${word.slice(0, 63)} `)).toEqual([])
    expect(await found(api, 'nuoutside')).toEqual([])
    expect(await found(api, 'nuin')).toEqual([])
    const astral = '𝒳𐐀'.repeat(40)
    const [letters] = await created(api, [['Nuastral', `${astral} end`]])
    expect(await found(api, `${astral} nuastral`)).toEqual([letters])
  })

  test('a description of nothing but combining marks holds up neither the index nor searches', async () => {
    // To normalize these marks as one text, the server would need a minute.
    const marks = '\u0315'.repeat(80_000) + '\u0300'.repeat(80_000) + '\u0315\uff9e'.repeat(60_000)
    const [marked] = await created(api, [['Sigmatool', marks]])
    const path = '/products/?q=sigmatool&fields=id,highlights'
    const { body } = await api.send(path, { signal: AbortSignal.timeout(20_000) })
    const name = [{ text: 'Sigmatool', match: true }]
    const description = [{ text: marks.slice(0, 160), match: false }]
    expect(Highlighted.parse(body)).toEqual([{ id: marked, highlights: { name, description } }])
  })

  test('a word of many combining marks is found in a long text, and is highlighted there', async () => {
    // Their order is not the normal one.
    const word = `\u0915${'\u094d\u093c'.repeat(18)}`
    const [marked] = await created(api, [['Marked', `${word} ${'long '.repeat(50)}`]])
    expect(await found(api, word)).toEqual([marked])
    const { body } = await api.get(`/products/?q=${encodeURIComponent(word)}&fields=id,highlights`)
    expect(Highlighted.parse(body)[0]?.highlights?.description[0]).toEqual({ text: word, match: true })
  })

  test('a query of more than 200 characters is refused', async () => {
    expect((await api.get(`/products/?q=${'𝒳'.repeat(200)}`)).status).toBe(200)
    expect(await errorOf(api, `/products/?q=${'x'.repeat(201)}`)).toMatchObject([
      { type: 'string_too_long', loc: ['query', 'q'], msg: 'String should have at most 200 characters' },
    ])
  })

  test('a cursor belongs to its words, not to their spelling, and to the place of its item, even once that is gone', async () => {
    const made = await created(
      api,
      Array.from({ length: 6 }, (_, place): [string, string] => [`Xi ${place}`, 'Paged']),
    )
    const first = await api.get('/products/?q=xi+paged&limit=2')
    const cursor = new URLSearchParams((nextOf(first) ?? '').split('?')[1]).get('cursor') ?? ''
    const rest = (q: string) => ids(api, `/products/?q=${encodeURIComponent(q)}&cursor=${cursor}`)
    expect(await rest('XI, pagéd')).toEqual(made.slice(2))
    await api.delete(`/products/${made[1]}`)
    expect(await rest('xi paged')).toEqual(made.slice(2))
    const refusal = { type: 'value_error', loc: ['query', 'cursor'], msg: 'Value error, not a cursor of this list' }
    for (const query of ['q=xi', 'q=xi+paged+', 'q=xi+paged&sort=id', 'q=xi+paged&min_price=1', 'q=paged+xi', '']) {
      expect(await errorOf(api, `/products/?${query}&cursor=${cursor}`), query).toMatchObject([refusal])
    }
  })
})

/** Creates products with these names and descriptions, one after another, with ascending prices. */
async function created<const Texts extends readonly Text[]>(
  api: Client,
  texts: Texts,
): Promise<{ [Place in keyof Texts]: number }>
async function created(api: Client, texts: readonly Text[]): Promise<number[]> {
  const made: number[] = []
  for (const [place, [name, description]] of texts.entries()) {
    made.push(await api.create('/products/', { name, description, price: place + 1 }))
  }
  return made
}

/** Products whose orders differ: by name, by price, by rating and by number of reviews. */
async function shelf(api: Client, count: number) {
  const category = await api.create('/categories/', sample.category)
  const user = await api.create('/users/', sample.user)
  const made: number[] = []
  for (let place = 0; place < count; place += 1) {
    const name = ['Eta ', 'A eta ', 'Tool '][place % 3] + String.fromCharCode(97 + ((place * 7) % 26))
    const path = place % 2 === 0 ? '/products/' : `/products/${category}/products`
    const product = await api.create(path, { name, description: 'Of eta', price: 1 + ((place * 5) % 11) })
    for (let review = 0; review < place % 4; review += 1) {
      await api.create('/reviews/', { ...sample.review(product, user), rating: 1 + ((place + review) % 5) })
    }
    made.push(product)
  }
  return { ids: made, category }
}

async function ids(api: Client, path: string): Promise<number[]> {
  return idsOf(await api.get(path))
}

function found(api: Client, q: string): Promise<number[]> {
  return ids(api, `/products/?limit=1000&q=${encodeURIComponent(q)}`)
}

async function skipped(api: Client, path: string, limit: number): Promise<number[]> {
  const all: number[] = []
  for (let skip = 0; ; skip += limit) {
    const page = await ids(api, `${path}&skip=${skip}&limit=${limit}`)
    all.push(...page)
    if (page.length < limit) return all
  }
}

async function errorOf(api: Client, path: string, headers: Record<string, string> = {}): Promise<unknown> {
  const { status, body } = await api.get(path, headers)
  expect(status).toBe(422)
  return z.object({ detail: z.unknown() }).parse(body).detail
}
