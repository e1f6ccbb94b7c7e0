import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { gzipSync, spawn } from 'bun'
import { client } from '../../../test/harness/client.ts'
import { countSkippedOnCitus, QUICK_HASHES } from '../../../test/harness/contract.ts'
import { ENGINES, postgres, sqlite } from '../../../test/harness/engines.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { commandLine, run, type Surroundings, startService, surroundingsOf } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { runAtTerminal } from '../../../test/harness/terminal/talk.ts'
import { until } from '../../../test/harness/until.ts'
import { BODY_MAX_BYTES } from '../http/validation/request.ts'

setDefaultTimeout(120_000)

countSkippedOnCitus()

const CATEGORY = '{"name":"Garden","description":"All for the garden"}\n'
const PRODUCT = '{"name":"Spade","description":"Steel","price":34.5}\n'
const USER = '{"name":"Ada Byron","email":"ada@mail.example","avatar":"/ada.png","password":"a secret"}\n'
const REVIEW = '{"product_id":1,"user_id":1,"rating":4,"comment":"Digs well"}\n'

/** How an archive, and with it the file of a spreadsheet, begins. */
const ZIP = Buffer.from('504b030414000600080000002100', 'hex')

/** More rows than are stored without taking the indexes of their table away for the time. */
const MANY = 11_000

const LONG = 'x'.repeat(BODY_MAX_BYTES - 200_000)

interface Files {
  readonly [name: string]: string | Uint8Array
}

/** Runs `stockroom import` on files with these contents. */
async function imported(
  url: string,
  files: Files,
  flags: readonly string[] = [],
  environment: Surroundings['environment'] = QUICK_HASHES,
) {
  using folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) await Bun.write(join(folder.path, name), content)
  return await run(['import', '--database', url, ...flags, ...Object.keys(files)], { folder: folder.path, environment })
}

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    const count = async (url: string, table: string) =>
      Number((await engine.read<{ count: number }>(url, `SELECT count(*) AS count FROM ${table}`))[0]?.count)

    test('a file may refer to rows of another one, in whatever order they are named', async () => {
      await using database = await engine.freshDatabase()
      const files = {
        'reviews.ndjson': REVIEW,
        'users.ndjson': USER,
        'products.ndjson': PRODUCT.replace('{', '{"category_id":1,'),
        'categories.ndjson': CATEGORY,
      }
      expect(await imported(database.url, files)).toEqual({
        status: 0,
        output: 'Imported 1 category, 1 product, 1 user, 1 review\n',
        errors: 'categories.ndjson: 1\nproducts.ndjson: 1\nusers.ndjson: 1\nreviews.ndjson: 1\nsearch index: 4\n',
      })
      const rows = await engine.read(
        database.url,
        `SELECT CAST(products.id AS integer) AS product, products.name, price, CAST(category_id AS integer) AS category,
          CAST(reviews.id AS integer) AS review, CAST(user_id AS integer) AS author, comment
        FROM products JOIN reviews ON product_id = products.id`,
      )
      expect(rows).toEqual([
        { product: 1, name: 'Spade', price: 34.5, category: 1, review: 1, author: 1, comment: 'Digs well' },
      ])
    })

    test('if lines are wrong, all of them are listed with what the API would say, and nothing is imported', async () => {
      await using database = await engine.freshDatabase()
      const withId = PRODUCT.replace('{', '{"id":1,')
      const refused = await imported(database.url, {
        'products.ndjson': `${withId}\n{"name":"ab","price":0}\n${PRODUCT}{"name":\n[]\n${withId}`,
        'users.ndjson': USER,
        'reviews.ndjson': `${REVIEW}${REVIEW.replace('"user_id":1', '"user_id":2')}${REVIEW.replace('4', '6')}${REVIEW.replaceAll('_id":1', '_id":9')}`,
      })
      expect(refused.errors.split('\n')).toEqual([
        'products.ndjson:3: name: String should have at least 3 characters',
        'products.ndjson:3: description: Field required',
        'products.ndjson:3: price: Input should be greater than 0',
        'products.ndjson:5:9: JSON decode error',
        'products.ndjson:6: Input should be a valid dictionary or object to extract fields from',
        'products.ndjson:7: id: Value error, Product with this id exists already',
        'products.ndjson: 2',
        'users.ndjson: 1',
        'reviews.ndjson:2: user_id: Value error, User not found',
        'reviews.ndjson:3: rating: Input should be less than or equal to 5',
        'reviews.ndjson:4: product_id: Value error, Product not found',
        'reviews.ndjson: 1',
        'stockroom: nothing was imported, because of 7 wrong lines',
        '',
      ])
      expect(refused).toMatchObject({ status: 1, output: '' })
      for (const table of ['products', 'users', 'reviews']) expect(await count(database.url, table)).toBe(0)
    })

    test('good lines are kept, if that is asked for, and the others are listed', async () => {
      await using database = await engine.freshDatabase()
      const files = {
        'products.ndjson': `${PRODUCT}{"name":"Rake"}\n${PRODUCT.replace('{', '{"category_id":9,')}${PRODUCT}`,
        'users.ndjson': USER,
        'reviews.ndjson': `${REVIEW.replace('{"product_id":1,"user_id":1', '{"id":5,"product_id":1,"user_id":2')}${REVIEW.replace('{', '{"id":9,')}`,
      }
      expect(await imported(database.url, files, ['--keep-good'])).toEqual({
        status: 1,
        output: 'Imported 2 products, 1 user, 1 review\n',
        errors: [
          'products.ndjson:2: description: Field required',
          'products.ndjson:2: price: Field required',
          'products.ndjson:3: category_id: Value error, Category not found',
          'products.ndjson: 2',
          'users.ndjson: 1',
          'reviews.ndjson:1: user_id: Value error, User not found',
          'reviews.ndjson: 1',
          'search index: 4',
          'stockroom: 3 wrong lines not imported',
          '',
        ].join('\n'),
      })
      expect(await count(database.url, 'products')).toBe(2)
      expect(await engine.read(database.url, 'SELECT CAST(id AS integer) AS id FROM reviews')).toEqual([{ id: 9 }])
    })

    test('an import that Ctrl-C ends has imported nothing, not even good lines that it was to keep', async () => {
      await using database = await engine.freshDatabase()
      const flags = ['--resource', 'products', '--format', 'ndjson', '--keep-good']
      const child = spawn(commandLine(['import', '--database', database.url, ...flags, '-'], {}), {
        ...surroundingsOf({}),
        stdin: 'pipe',
        stdout: 'ignore',
        stderr: 'pipe',
      })
      // The wrong line is named when those before it are stored.
      child.stdin.write(`${PRODUCT.repeat(999)}{}\n`)
      await child.stdin.flush()
      let errors = ''
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
        if (errors === '') child.kill('SIGINT')
        errors += text
      }
      await child.exited
      expect({ status: child.exitCode, errors }).toEqual({
        status: 130,
        errors: expect.stringMatching(/\nstockroom: interrupted; nothing was imported\n$/),
      })
      expect(await count(database.url, 'products')).toBe(0)
    })

    test('given ids are kept, and later ones follow the highest', async () => {
      await using database = await engine.freshDatabase()
      const withIds = [7, 3, 40].map(id => CATEGORY.replace('{', `{"id":${id},`)).join('')
      expect(await imported(database.url, { 'categories.ndjson': CATEGORY + withIds })).toMatchObject({ status: 0 })
      await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
      const api = client(() => service.address)
      expect(await api.create('/categories/', JSON.parse(CATEGORY))).toBe(42)
      // The first event in the feed tells of all four.
      const events = async () => String((await api.get('/events?since=start', { Accept: 'application/x-ndjson' })).body)
      expect(JSON.parse((await events()).split('\n')[0] ?? '')).toMatchObject({
        type: 'categories.imported',
        data: { count: 4, first_id: 3, last_id: 41 },
      })
      // A line without an id takes none that another line has.
      const last = CATEGORY + CATEGORY.replace('{', '{"id":43,') + CATEGORY
      expect((await imported(database.url, { 'categories.ndjson': last })).status).toBe(0)
      // Other programs may choose ids that the database has not drawn.
      await engine.write(database.url, "INSERT INTO categories (id, name, description) VALUES (60, 'Of another', '')")
      expect((await imported(database.url, { 'categories.ndjson': CATEGORY })).status).toBe(0)
      const taken = { 'categories.ndjson': CATEGORY.replace('{', '{"id":61,') }
      const again = await imported(database.url, taken, ['--keep-good'])
      expect(again.errors).toContain('categories.ndjson:1: id: Value error, Category with this id exists already')
      // Nothing was stored, so there is nothing to tell of.
      expect(await events()).not.toContain('"count":0')
      const ids = [3, 7, 40, 41, 42, 43, 44, 45, 60, 61]
      expect((await api.get('/categories/')).body).toMatchObject(ids.map(id => ({ id })))
    })

    test('a running service shows at once what was imported', async () => {
      await using database = await engine.freshDatabase()
      await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
      const api = client(() => service.address)
      await imported(database.url, { 'products.ndjson': PRODUCT, 'users.ndjson': USER })
      expect((await api.get('/products/1')).body).toMatchObject({ id: 1, reviews: [] })
      await imported(database.url, { 'reviews.ndjson': REVIEW })
      expect((await api.get('/products/1')).body).toMatchObject({ id: 1, reviews: [{ id: 1 }] })
    })

    test('many rows are stored, with every index of their table', async () => {
      await using database = await engine.freshDatabase()
      const schema = 'SELECT sql AS text FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name'
      const files = { 'products.ndjson': PRODUCT, 'users.ndjson': USER, 'reviews.ndjson': REVIEW.repeat(250) }
      expect(await imported(database.url, files)).toMatchObject({ status: 0 })
      // Somebody may have made one with a name that has to be quoted.
      if (engine === sqlite) await engine.write(database.url, 'CREATE INDEX "by-rating" ON reviews (rating)')
      const indexes = engine === sqlite ? await engine.read(database.url, schema) : []
      expect(await imported(database.url, { 'reviews.ndjson': REVIEW.repeat(MANY) })).toMatchObject({
        status: 0,
        output: `Imported ${MANY} reviews\n`,
      })
      if (engine === sqlite) expect(await engine.read(database.url, schema)).toEqual(indexes)
      const rows = await engine.read<Record<string, unknown>>(
        database.url,
        'SELECT count(*) AS stored, max(id) AS highest FROM reviews WHERE product_id = 1',
      )
      expect(rows.map(({ stored, highest }) => [Number(stored), Number(highest)])).toEqual([[MANY + 250, MANY + 250]])
    })

    test('a row that the database refuses by a rule of its own is named in one line, and nothing is imported', async () => {
      await using database = await engine.freshDatabase()
      expect(await imported(database.url, { 'users.ndjson': USER })).toMatchObject({ status: 0 })
      await engine.write(database.url, 'CREATE UNIQUE INDEX one_address ON users (email)')
      const { status, errors } = await imported(database.url, { 'categories.ndjson': CATEGORY, 'users.ndjson': USER })
      expect(errors).toMatch(
        /^categories\.ndjson: 1\nstockroom: .* nothing was stored: .*(users\.email|one_address).*\n$/,
      )
      expect([status, await count(database.url, 'categories')]).toEqual([1, 0])
    })

    test('wrong lines among many good ones are found', async () => {
      await using database = await engine.freshDatabase()
      const products = Array.from({ length: 450 }, (_, place) => PRODUCT.replace('{', `{"id":${place + 1},`))
      const twice = [...products.slice(0, 250), products[7], ...products.slice(250)].join('')
      const absent = REVIEW.replace('"user_id":1', '"user_id":2')
      const { errors } = await imported(database.url, {
        'products.ndjson': twice,
        'users.ndjson': USER,
        'reviews.ndjson': REVIEW.repeat(150) + absent + REVIEW.repeat(150),
      })
      expect(errors.split('\n')).toEqual([
        'products.ndjson:251: id: Value error, Product with this id exists already',
        'products.ndjson: 450',
        'users.ndjson: 1',
        'reviews.ndjson:151: user_id: Value error, User not found',
        'reviews.ndjson: 300',
        'stockroom: nothing was imported, because of 2 wrong lines',
        '',
      ])
    })

    test('passwords are stored as hashes only; the mask stands for a password that nobody has', async () => {
      await using database = await engine.freshDatabase()
      const hash = await Bun.password.hash('old secret', { algorithm: 'bcrypt', cost: 4 })
      const withHash = USER.replace('"password":"a secret"', `"password_hash":"${hash}"`)
      const withMask = USER.replace('a secret', '**********')
      const files = { 'users.ndjson': USER + withHash + withMask }
      expect(await imported(database.url, files, [], {})).toMatchObject({ status: 0 })
      const rows = await engine.read<{ hash: string }>(
        database.url,
        'SELECT password_hash AS hash FROM users ORDER BY id',
      )
      const [hashed = '', kept, unknown] = rows.map(row => row.hash)
      expect(await Bun.password.verify('a secret', hashed)).toBe(true)
      expect(kept).toBe(hash)
      expect(unknown).toStartWith('$argon2id$')
      expect(await engine.everything(database.url)).not.toContain('a secret')
      const without = USER.replace(',"password":"a secret"', '')
      const plain = withHash.replace(hash, 'a secret')
      expect((await imported(database.url, { 'users.ndjson': without + plain })).errors).toStartWith(
        'users.ndjson:1: password: Field required\n' +
          'users.ndjson:2: password_hash: Value error, not a hash of argon2 or bcrypt\n',
      )
    })
  })
}

test('an import that Ctrl-C comes too late for says what it has stored', async () => {
  await using database = await sqlite.freshDatabase()
  using folder = temporaryFolder()
  // More than 64 MiB, which take a while to be copied into the file after the commit.
  const line = PRODUCT.replace('Steel', 'x'.repeat(700_000))
  await Bun.write(join(folder.path, 'products.ndjson'), line.repeat(100))
  const child = spawn(commandLine(['import', '--database', database.url, join(folder.path, 'products.ndjson')], {}), {
    ...surroundingsOf({}),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const stored = "SELECT count(*) AS count FROM sqlite_schema WHERE name = 'products'"
  await until(async () => (await sqlite.read<{ count: number }>(database.url, stored).catch(() => []))[0]?.count === 1)
  const rows = 'SELECT count(*) AS count FROM products'
  await until(async () => Number((await sqlite.read<{ count: number }>(database.url, rows))[0]?.count) > 0)
  child.kill('SIGINT')
  await child.exited
  expect(await new Response(child.stdout).text()).toBe('Imported 100 products\n')
  expect(await new Response(child.stderr).text()).not.toContain('nothing was imported')
})

test('what a trigger says of a row that it refuses is told, and the row is not', async () => {
  await using database = await postgres.freshDatabase()
  expect(await imported(database.url, { 'users.ndjson': USER })).toMatchObject({ status: 0 })
  // Codes that triggers have of their own.
  for (const code of ['P0001', 'TOOMA']) {
    await postgres.write(
      database.url,
      `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no more users' USING ERRCODE = '${code}'; END $$;
      CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION refuse()`,
    )
    const refused = await imported(database.url, { 'users.ndjson': USER })
    expectRefusal(refused, { status: 1, reason: /nothing was stored: no more users \(COPY users, line 1\)$/m }, code)
  }
})

test('CSV is read as spreadsheets write it', async () => {
  const texts = [
    'Name,description,price,category_id,id,sku\nSpade,"Steel, with an ""ash"" handle",34.50,,7,S1\nRake,"Two\nlines",1e2,,,\n',
    '\ufeffname;description;price\r\nSpade;"Steel; strong";34,50\r\nRake;Grün;100\r\n',
    '\ufeff"name"\t"description"\t"price"\nSpade\tSteel\t34.5\n\nRake\tWood\t 100 ',
    'name,description,price\nSpade,Steel,34.5\r\nRake,Wood,100\r\n',
    'name,price,description\r\nSpade,34.5,Steel\nRake,100,Wood\r',
    '\r\nname;description;price;size, in cm\r\nSpade;Steel;34,5;90\r\nRake;Wood;100;80\r\n',
    'name,description,price,"a;b;c;d;e"\nSpade,Steel,34.5,\nRake,Wood,100,\n',
    // Together, they are longer than one line may be.
    `name,price,description\nSpade,34.5,${LONG}\nRake,100,${LONG}\n`,
    // More blank lines than are read at once.
    `${'\n'.repeat(300_000)}name;description;price\nSpade;Steel;34,5\nRake;Wood;100\n`,
  ]
  const users =
    'name,email,avatar,password,is_banned,is_verified,is_active\nAda Byron,ada@mail.example,,secret,TRUE,,False\n'
  const files = Object.fromEntries(texts.map((text, place) => [`products-${place}.csv`, text]))
  await using database = await sqlite.freshDatabase()
  expect(await imported(database.url, { ...files, 'users.csv': users })).toMatchObject({ status: 0 })
  const rows = await sqlite.read(database.url, 'SELECT name, price, category_id FROM products ORDER BY id')
  expect(rows).toEqual(
    texts.flatMap(() => [
      { name: 'Spade', price: 34.5, category_id: null },
      { name: 'Rake', price: 100, category_id: null },
    ]),
  )
  const ends = "SELECT count(*) AS count FROM products WHERE description LIKE '%' || char(13)"
  expect(await sqlite.read(database.url, ends)).toEqual([{ count: 0 }])
  expect(await sqlite.read(database.url, 'SELECT avatar, is_active, is_banned, is_verified FROM users')).toEqual([
    { avatar: '', is_active: 0, is_banned: 1, is_verified: 0 },
  ])
})

test('a wrong line of CSV is listed by the number of the line that it begins on', async () => {
  await using database = await sqlite.freshDatabase()
  const text =
    'name,description,price,"s\r\nku"\r\nSpade,"Two\r\nlines",1\r\n\r\nRake,Wood,cheap\r\nHoe,Iron,,x\r\nAxe,Iron,1,x,y\r\n' +
    'Saw,Steel,"1,250",x\r\n'
  expect((await imported(database.url, { 'products.csv': text })).errors.split('\n')).toEqual([
    'products.csv: ignored columns: "s\\r\\nku"',
    'products.csv:6: price: Input should be a valid number',
    'products.csv:7: price: Field required',
    'products.csv:8: Value error, 5 fields, but the first line names 4',
    'products.csv:9: price: Input should be a valid number',
    'products.csv: 1',
    'stockroom: nothing was imported, because of 4 wrong lines',
    '',
  ])
  // Not a user whose password is empty.
  const users = 'name,email,avatar,password\nAda Byron,ada@mail.example,,\n'
  expect((await imported(database.url, { 'users.csv': users })).errors).toStartWith(
    'users.csv:2: password: Field required\n',
  )
})

test('files that cannot be read as a whole are refused in one line', async () => {
  await using database = await sqlite.freshDatabase()
  const refusals: [Files, 1 | 2, RegExp, (readonly string[])?][] = [
    [{ 'articles.csv': '' }, 2, /articles\.csv: use --resource .*: categories, products, users, reviews$/m],
    [{ 'products.xlsx': ZIP }, 2, /products\.xlsx: save it as "CSV UTF-8", or use --format/],
    [
      { 'products.jsonl': PRODUCT },
      2,
      /products\.jsonl: .* use --format .*: csv, or ndjson if each line is a JSON object/,
    ],
    [{ 'products.ndjson': `[${PRODUCT}]` }, 1, /products\.ndjson: a JSON array, .* jq -c '\.\[\]' makes NDJSON of it/],
    [{ 'products.json': `\n[\n${PRODUCT}\n]` }, 1, /a JSON array, /, ['--format', 'ndjson']],
    [{ 'products.csv': '' }, 2, /--format: "xml" is none of ndjson, csv/, ['--format', 'xml']],
    [{ 'products.csv': 'name,price\nSpade,1\n' }, 1, /products\.csv: the first line .*lacks description/],
    [{ 'products.csv': 'name,Name,description,price\n' }, 1, /two columns have the name "name"/],
    [
      { 'products.csv': 'name,description,price\n"Spade"s,Steel,1\n' },
      1,
      /products\.csv: line 2: .* after its closing quote/,
    ],
    [{ 'products.csv': 'name,description,price\n"Spade,Steel,1\nRake,Wood,1\n' }, 1, /line 2: .* no closing quote/],
    [{ 'products.csv': `name,description,price\n${'x'.repeat(2_000_000)},,1\n` }, 1, /line 2: the line is longer than/],
    [{ 'products.csv': `name,description,price\n\n${','.repeat(2_000_000)}\n` }, 1, /line 3: the line is longer than/],
    [{ 'products.csv': `name,description,price${',x'.repeat(1_000)}\n` }, 1, /names more than 1000 columns/],
    [{ 'products.csv': Buffer.from('name,description,price\nGr\xfcn,Steel,1\n', 'latin1') }, 1, /not encoded in UTF-8/],
    [{ 'products.csv': Buffer.from('name,description,price\nSpade,Grün').subarray(0, -2) }, 1, /not encoded in UTF-8/],
    [{ 'products.ndjson.gz': PRODUCT }, 1, /products\.ndjson\.gz: /],
    [{ 'products.ndjson': ZIP }, 1, /products\.ndjson: neither CSV nor NDJSON in UTF-8; save a spreadsheet as/],
    [{ 'products.csv': Buffer.from('name,price\n', 'utf16le') }, 1, /products\.csv: neither CSV nor NDJSON in UTF-8/],
    [{ 'products.ndjson.gz': gzipSync(ZIP) }, 1, /products\.ndjson\.gz: neither CSV nor NDJSON/],
  ]
  for (const [files, status, reason, flags] of refusals) {
    expectRefusal(await imported(database.url, files, flags), { status, reason }, String(reason))
  }
  expectRefusal(await run(['import', '--database', database.url]), { status: 2, reason: /at least one FILE/ })
  const missing = await run(['import', '--database', database.url, '/nowhere/products.csv'])
  expectRefusal(missing, { status: 1, reason: /\/nowhere\/products\.csv: it does not exist/ })
  const folder = await run(['import', '--database', database.url, '/nowhere/shop'])
  expectRefusal(folder, { status: 1, reason: /\/nowhere\/shop: it does not exist/ })
  const long = await run(['import', '--database', database.url, `products-${'long'.repeat(64)}.csv`])
  expectRefusal(long, { status: 1, reason: /products-(long)+\.csv: ENAMETOOLONG/ })
})

test('what is not text is refused, even if its first bytes come alone, as from another program', async () => {
  await using database = await sqlite.freshDatabase()
  const argv = ['import', '--database', database.url, '--resource', 'products', '--format', 'ndjson', '-']
  const child = spawn(commandLine(argv, {}), {
    ...surroundingsOf({}),
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  child.stdin.write('PK\n')
  await child.stdin.flush()
  let errors = ''
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    // The first bytes were read.
    if (errors === '') {
      child.stdin.write(ZIP)
      child.stdin.end()
    }
    errors += text
  }
  expect(errors).toEndWith('stockroom: -: neither CSV nor NDJSON in UTF-8; save a spreadsheet as "CSV UTF-8"\n')
})

test('a file without a line, such as the export of an empty list, is imported, and named as empty', async () => {
  await using database = await sqlite.freshDatabase()
  const empty: Files = {
    'categories.csv': '',
    'users.ndjson': '',
    'users-2.ndjson': '\n\n',
    'users-3.ndjson.gz': gzipSync(Buffer.from('')),
    'users-4.csv': 'name,email,avatar,password\n',
  }
  const { status, output, errors } = await imported(database.url, { ...empty, 'products.ndjson': PRODUCT })
  expect({ status, output }).toEqual({ status: 0, output: 'Imported 0 categories, 1 product, 0 users\n' })
  for (const name of Object.keys(empty)) {
    expect(errors).toContain(`${name}: the file is empty\n`)
    expect(errors.split('\n').filter(line => line === `${name}: 0`)).toHaveLength(1)
  }
  expect(errors).not.toContain('products.ndjson: the file is empty')
})

test('a field of a million digits that is no number is found out at once', async () => {
  await using database = await sqlite.freshDatabase()
  const text = `name,description,price\nSpade,Steel,${'1'.repeat(1_000_000)}x\n`
  const refused = await imported(database.url, { 'products.csv': text })
  expect(refused.errors).toStartWith('products.csv:2: price: Input should be a valid number')
})

test('a password is not repeated if its line cannot be read', async () => {
  await using database = await sqlite.freshDatabase()
  const text = 'name,email,avatar,password\nAda Byron,ada@mail.example,/ada.png,mysecret"rest\n'
  const refused = await imported(database.url, { 'users.csv': text })
  expectRefusal(refused, { status: 1, reason: /users\.csv: line 2: a field has a quote/ })
  expect(refused.errors).not.toContain('mysecret')
})

test('the first line of CSV may arrive in pieces, and unknown columns are shown without characters that control a terminal or hide text', async () => {
  await using database = await sqlite.freshDatabase()
  const argv = ['import', '--database', database.url, '--resource', 'products', '--format', 'csv', '-']
  const child = spawn(commandLine(argv, {}), {
    ...surroundingsOf({}),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  for (const piece of [
    'name',
    ';desc',
    'ription;price;\x1b[2J\u009b2J\u202e\u{e0041}\r',
    '\nSpade;Steel;34,5;\r',
    '\n',
  ]) {
    child.stdin.write(piece)
    await child.stdin.flush()
    await Bun.sleep(50)
  }
  await child.stdin.end()
  expect(await new Response(child.stderr).text()).toContain(
    'ignored columns: "\\u001b[2j\\u009b2j\\u202e\\udb40\\udc41"\n',
  )
  expect(await new Response(child.stdout).text()).toBe('Imported 1 product\n')
})

test('a folder means all files in it that are named after what they contain', async () => {
  await using database = await sqlite.freshDatabase()
  using folder = temporaryFolder()
  const files = [
    'products_2024.ndjson',
    'products-2.ndjson',
    'PRODUCTS.NDJSON',
    'products.csv.3.ndjson',
    'other.ndjson',
  ]
  for (const name of files) await Bun.write(join(folder.path, 'shop', name), PRODUCT)
  await Bun.write(join(folder.path, 'shop', 'PRODUCTS.NDJSON.GZ'), gzipSync(Buffer.from(PRODUCT)))
  await Bun.write(join(folder.path, 'shop', 'products.csv', 'empty'), '')
  const importing = (path: string) => run(['import', '--database', database.url, path], { folder: folder.path })
  expect(await importing('shop')).toMatchObject({ status: 0, output: 'Imported 5 products\n' })
  expectRefusal(await importing('shop/products.csv'), { status: 1, reason: /shop\/products\.csv: no file in it/ })
})

test('a file may be compressed, or come from standard input, and flags say what names do not', async () => {
  await using database = await sqlite.freshDatabase()
  const bytes = Buffer.from(PRODUCT)
  expect(await imported(database.url, { 'products-2.ndjson.gz': gzipSync(bytes) })).toMatchObject({ status: 0 })
  const flags = ['--resource', 'products', '--format', 'csv']
  const text = 'name,description,price\nSpade,Steel,1\n'
  expect(await imported(database.url, { 'articles.txt': text }, flags)).toMatchObject({ status: 0 })
  const piped = await run(['import', '--database', database.url, ...flags, '-'], { input: text })
  expect(piped).toMatchObject({ status: 0, output: 'Imported 1 product\n' })
  expect(await sqlite.read(database.url, 'SELECT count(*) AS count FROM products')).toEqual([{ count: 3 }])
})

test('a line with too many bytes is wrong, too, if it has few enough characters', async () => {
  await using database = await sqlite.freshDatabase()
  const long = PRODUCT.replace('Steel', 'й'.repeat(900_000))
  expect((await imported(database.url, { 'products.ndjson': long + PRODUCT })).errors.split('\n')).toEqual([
    'products.ndjson:1: Value error, the line is longer than 1052672 bytes',
    'products.ndjson: 1',
    'stockroom: nothing was imported, because of 1 wrong line',
    '',
  ])
})

test('bytes that are not UTF-8, and a line that is too long, are wrong lines', async () => {
  await using database = await sqlite.freshDatabase()
  const long = `${PRODUCT.slice(0, -2)},"sku":"${'x'.repeat(3_000_000)}"}\n`
  const latin = Buffer.from(PRODUCT.replace('Spade', 'Gr\xfcn'), 'latin1')
  const file = Buffer.concat([Buffer.from(PRODUCT + long + PRODUCT), latin, Buffer.from(PRODUCT.trimEnd())])
  expect((await imported(database.url, { 'products.ndjson': file })).errors.split('\n')).toEqual([
    'products.ndjson:2: Value error, the line is longer than 1052672 bytes',
    'products.ndjson:4:12: JSON decode error',
    'products.ndjson: 3',
    'stockroom: nothing was imported, because of 2 wrong lines',
    '',
  ])
})

test('a file of nothing but wrong lines is not read to its end', async () => {
  await using database = await sqlite.freshDatabase()
  const { errors } = await imported(database.url, { 'reviews.ndjson': `{${' '.repeat(200)}}\n`.repeat(20_000) })
  expect(errors).toContain('reviews.ndjson:1: product_id: Field required\n')
  expect(errors).toEndWith('because of 1000 wrong lines or more; the rest was not read\n')
  expect(errors.split('\n')).toHaveLength(4_002)
  // With --keep-good it is, because good lines may follow.
  const mixed = { 'products.ndjson': '{\n'.repeat(1_001) + PRODUCT }
  const kept = await imported(database.url, mixed, ['--keep-good'])
  expect(kept).toMatchObject({ status: 1, output: 'Imported 1 product\n' })
  expect(kept.errors).toEndWith('stockroom: 1001 wrong lines not imported\n')
})

test('columns that no field has are not looked for in each line', async () => {
  using folder = temporaryFolder()
  const cpuTimeWith = async (columns: number) => {
    const unknown = Array.from({ length: columns }, (_, at) => `x${at}`)
    await Bun.write(join(folder.path, 'products.csv'), `name,description,price,${unknown}\n${'x\n'.repeat(20_000)}`)
    const child = spawn(commandLine(['import', 'products.csv'], {}), {
      ...surroundingsOf({ folder: folder.path }),
      stdout: 'ignore',
      stderr: 'pipe',
    })
    expect(await child.stderr.text()).toEndWith('because of 1000 wrong lines or more; the rest was not read\n')
    await child.exited
    // Other programs do not lengthen it.
    return Number(child.resourceUsage()?.cpuTime.total)
  }
  expect(await cpuTimeWith(997)).toBeLessThan(2 * (await cpuTimeWith(1)))
})

test('at a terminal, import draws a bar', async () => {
  await using database = await sqlite.freshDatabase()
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'products.ndjson'), PRODUCT.repeat(6_000))
  const { status, screen } = await runAtTerminal(['import', '--database', database.url, 'products.ndjson'], {
    folder: folder.path,
  })
  expect(status).toBe(0)
  expect(screen).toMatch(/\rproducts\.ndjson █+░+ \d+\r/)
  expect(screen).toMatch(/\rproducts\.ndjson █{30} 6000\r\n/)
})
