import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  aboveFive,
  at,
  belowOne,
  belowZero,
  expectRefusal,
  type Fault,
  type Loc,
  notDigits,
  notFinite,
} from '../../../../test/harness/catalog/validation-errors.ts'
import { onOneEngine } from '../../../../test/harness/contract.ts'

setDefaultTimeout(120_000)

const STRICT = { Prefer: 'handling=strict' }

const notANumber: Fault = {
  type: 'float_parsing',
  msg: 'Input should be a valid number, unable to parse string as a number',
}
const unknown: Fault = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' }
const notACursor: Fault = { type: 'value_error', msg: 'Value error, not a cursor of this list' }
const excluded: Fault = { type: 'value_error', msg: 'Value error, cursor excludes skip and after_id' }
const otherOrder: Fault = { type: 'value_error', msg: 'Value error, after_id needs the order of ids' }
const tooLongText: Fault = { type: 'string_too_long', msg: 'String should have at most 200 characters' }
const notAboveAThousand: Fault = { type: 'less_than_equal', msg: 'Input should be less than or equal to 1000' }

const PRODUCT_SORTS =
  "'id', '-id', 'name', '-name', 'price', '-price', 'rating', '-rating', 'reviews', '-reviews' or 'relevance'"
const PRODUCT_FIELDS = "'*', 'id', 'name', 'description', 'price', 'reviews', 'category_id', 'rating' or 'highlights'"
const USER_FIELDS =
  "'*', 'id', 'name', 'email', 'avatar', 'password', 'is_active', 'is_admin', 'is_banned', 'is_blocked', 'is_deleted', 'is_suspended', 'is_verified' or 'reviews'"

onOneEngine('errors of selections', api => {
  /** Each request has exactly one error. */
  const areRefused = async (rows: readonly (readonly [target: string, loc: Loc, fault: Fault])[]) => {
    for (const [target, loc, fault] of rows)
      expectRefusal(await api.get(target), [at(['query', ...loc], fault)], target)
  }

  test('a sort that is not one of the words of its list is refused with all of them', async () => {
    await areRefused([
      ['/products/?sort=colour', ['sort'], notAmong(PRODUCT_SORTS)],
      ['/products/?sort=', ['sort'], notAmong(PRODUCT_SORTS)],
      ['/products/?sort=ID', ['sort'], notAmong(PRODUCT_SORTS)],
      ['/products/?sort=-relevance', ['sort'], notAmong(PRODUCT_SORTS)],
      ['/products/?sort=id,name', ['sort'], notAmong(PRODUCT_SORTS)],
      ['/categories/?sort=price', ['sort'], notAmong("'id', '-id', 'name', '-name' or 'relevance'")],
      ['/users/?sort=password', ['sort'], notAmong("'id', '-id', 'name', '-name' or 'relevance'")],
      ['/reviews/?sort=rating', ['sort'], notAmong("'id' or '-id'")],
      ['/reviews/users/1?sort=-rating', ['sort'], notAmong("'id' or '-id'")],
      ['/reviews/products/1?sort=relevance', ['sort'], notAmong("'id', '-id', 'rating' or '-rating'")],
    ])
  })

  test('a member that is not one of the words of its resource is refused with all of them', async () => {
    const ofReviews = "'*', 'id', 'product_id', 'user_id', 'rating', 'comment', 'user' or 'product'"
    await areRefused([
      ['/products/?fields=name,colour', ['fields', 1], notAmong(PRODUCT_FIELDS)],
      ['/products/?fields=', ['fields', 0], notAmong(PRODUCT_FIELDS)],
      ['/products/?fields=id&fields=name,', ['fields', 2], notAmong(PRODUCT_FIELDS)],
      ['/products/1?fields=password', ['fields', 0], notAmong(PRODUCT_FIELDS)],
      ['/products/1/products?fields=q', ['fields', 0], notAmong(PRODUCT_FIELDS)],
      ['/categories/?fields=price', ['fields', 0], notAmong("'*', 'id', 'name', 'description' or 'products'")],
      ['/users/?fields=password_hash', ['fields', 0], notAmong(USER_FIELDS)],
      ['/users/1?fields=rating', ['fields', 0], notAmong(USER_FIELDS)],
      ['/reviews/?fields=highlights', ['fields', 0], notAmong(ofReviews)],
      ['/reviews/products/1/users/1?fields=x', ['fields', 0], notAmong(ofReviews)],
    ])
  })

  test('text for a number, and a number that is not finite, are refused', async () => {
    for (const name of ['min_price', 'max_price', 'below_price', 'min_rating']) {
      for (const text of ['abc', '', '1,5', '0x10', '.5', '5.', '01', 'Infinity', 'nan', '1_0', '+5', '--1', '1e']) {
        expectRefusal(await api.get(`/products/?${name}=${text}`), [at(['query', name], notANumber)], name + text)
      }
      for (const text of ['1e999', '-1e999', '9'.repeat(400)]) {
        expectRefusal(await api.get(`/products/?${name}=${text}`), [at(['query', name], notFinite)], name + text)
      }
    }
  })

  test('numbers out of bounds are refused', async () => {
    await areRefused([
      ['/products/?min_price=-0.01', ['min_price'], belowZero],
      ['/products/?max_price=-1', ['max_price'], belowZero],
      ['/products/?below_price=-1e300', ['below_price'], belowZero],
      ['/products/?min_rating=0.99', ['min_rating'], belowOne],
      ['/products/?min_rating=5.01', ['min_rating'], aboveFive],
      ['/products/?count=0', ['count'], belowOne],
      ['/products/?count=-5', ['count'], belowOne],
      ['/products/?count=1000000001', ['count'], atMost(1_000_000_000)],
      [`/products/?count=${'9'.repeat(400)}`, ['count'], atMost(1_000_000_000)],
      ['/products/?count=x', ['count'], notDigits],
      ['/products/?count=1.0', ['count'], notDigits],
      ['/products/?count=', ['count'], notDigits],
      ['/reviews/?rating=0', ['rating', 0], belowOne],
      ['/reviews/?rating=1,6', ['rating', 1], aboveFive],
    ])
  })

  test('an item of a list is refused by its position in the joined list, an empty one too', async () => {
    await areRefused([
      ['/products/?id=', ['id', 0], notDigits],
      ['/products/?id=1,', ['id', 1], notDigits],
      ['/products/?id=1,2&id=3,x', ['id', 3], notDigits],
      ['/products/?category_id=1,b', ['category_id', 1], notDigits],
      ['/products/?category_id=1.5', ['category_id', 0], notDigits],
      ['/products/?category_id=1,%202', ['category_id', 1], notDigits],
      ['/categories/?id=x', ['id', 0], notDigits],
      ['/users/?id=1e3', ['id', 0], notDigits],
      ['/reviews/?product_id=x', ['product_id', 0], notDigits],
      ['/reviews/?user_id=null', ['user_id', 0], notDigits],
      ['/reviews/products/1?rating=five', ['rating', 0], notDigits],
      ['/reviews/users/1?rating=1,2,,4', ['rating', 2], notDigits],
    ])
  })

  test('each wrong item of a list has an error', async () => {
    expectRefusal(await api.get('/reviews/?rating=a,3,9&rating=,0'), [
      at(['query', 'rating', 0], notDigits),
      at(['query', 'rating', 2], aboveFive),
      at(['query', 'rating', 3], notDigits),
      at(['query', 'rating', 4], belowOne),
    ])
  })

  test('too many items are refused as such, even equal or wrong ones', async () => {
    const times = (count: number, item = '1') => Array.from({ length: count }, () => item).join()
    await areRefused([
      [`/products/?id=${times(101)}`, ['id'], tooMany(100, 101)],
      [`/products/?id=x,${times(100)}`, ['id'], tooMany(100, 101)],
      [`/products/?id=${','.repeat(4_000)}`, ['id'], tooMany(100, 4_001)],
      [`/categories/?id=${times(150)}`, ['id'], tooMany(100, 150)],
      [`/products/?category_id=${times(50)}&category_id=2`, ['category_id'], tooMany(50, 51)],
      [`/reviews/?product_id=${times(51)}`, ['product_id'], tooMany(50, 51)],
      [`/reviews/?user_id=${times(60)}`, ['user_id'], tooMany(50, 60)],
      [`/reviews/?rating=${times(6)}`, ['rating'], tooMany(5, 6)],
      [`/products/?fields=${times(21, 'id')}`, ['fields'], tooMany(20, 21)],
      [`/products/1?fields=${times(21, 'id')}`, ['fields'], tooMany(20, 21)],
    ])
    expect((await api.get(`/products/?fields=${times(20, 'id')}`)).status).toBe(200)
  })

  test('a list that is repeated thousands of times is refused in little more time than one with commas', async () => {
    const quickest = async (query: string) => {
      const durations: number[] = []
      while (durations.length < 20) {
        const began = performance.now()
        expectRefusal(await api.get(`/products/?${query}`), [at(['query', 'id'], tooMany(100, 3_001))])
        durations.push(performance.now() - began)
      }
      return Math.min(...durations)
    }
    const joined = await quickest(`id=1${',1'.repeat(3_000)}`)
    expect(await quickest(`id=1${'&id=1'.repeat(3_000)}`)).toBeLessThan(10 * joined)
  })

  test('q has at most 200 code points', async () => {
    await areRefused([
      [`/products/?q=${'a'.repeat(201)}`, ['q'], tooLongText],
      [`/categories/?q=${'%F0%9F%98%80'.repeat(201)}`, ['q'], tooLongText],
    ])
    expect((await api.get(`/products/?q=${'%F0%9F%98%80'.repeat(200)}`)).status).toBe(200)
  })

  test('limit is at most 1,000 in a selection, even in one with other errors', async () => {
    for (const parameter of ['q=', 'id=1', 'sort=id', 'count=1', 'min_price=1', 'max_price=1&fields=id']) {
      await areRefused([[`/products/?limit=1001&${parameter}`, ['limit'], notAboveAThousand]])
      expect((await api.get(`/products/?limit=1000&${parameter}`)).status, parameter).toBe(200)
    }
    await areRefused([['/reviews/products/1?limit=5000&rating=4', ['limit'], notAboveAThousand]])
    for (const query of ['fields=id', 'after_id=1', 'skip=0', 'colour=red']) {
      expect((await api.get(`/products/?limit=1001&${query}`)).status, query).toBe(200)
    }
    expectRefusal(await api.get('/products/?sort=colour&limit=1001'), [
      at(['query', 'limit'], notAboveAThousand),
      at(['query', 'sort'], notAmong(PRODUCT_SORTS)),
    ])
    expectRefusal(await api.get('/products/?cursor=x&limit=1001'), [at(['query', 'limit'], notAboveAThousand)])
    expectRefusal(await api.get('/reviews/products/1?limit=1001&skip=-1&rating=1,2,3,4,5,5'), [
      at(['query', 'skip'], belowZero),
      at(['query', 'limit'], notAboveAThousand),
      at(['query', 'rating'], { type: 'too_long', msg: 'List should have at most 5 items after validation, not 6' }),
    ])
    for (const number of ['1e4', '1e999', '1001.0', '0x7d0']) {
      expectRefusal(await api.get(`/products/?sort=id&limit=${number}`), [at(['query', 'limit'], notDigits)])
    }
  })

  test('text that is no cursor is refused', async () => {
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const texts = ['', 'x', '%00', '====', 'a+b', 'W10', encoded(null), encoded({}), encoded([1]), encoded('1')]
    for (const text of [...texts, encoded([1, 0, 1]), 'A'.repeat(701), 'A'.repeat(5_000)]) {
      await areRefused([[`/products/?cursor=${text}`, ['cursor'], notACursor]])
    }
  })

  test('a cursor excludes skip and after_id, whatever their values and its own', async () => {
    await areRefused([
      ['/products/?cursor=x&skip=0', ['cursor'], excluded],
      ['/products/?cursor=x&after_id=0', ['cursor'], excluded],
      ['/products/?cursor=x&after_id=0&skip=5&sort=price', ['cursor'], excluded],
      ['/reviews/products/1?cursor=&skip=1', ['cursor'], excluded],
    ])
  })

  test('after_id is refused in another order than that of ids', async () => {
    await areRefused([
      ['/products/?after_id=0&sort=-id', ['after_id'], otherOrder],
      ['/products/?after_id=0&sort=price', ['after_id'], otherOrder],
      ['/products/?after_id=0&q=spade', ['after_id'], otherOrder],
      ['/products/?after_id=0&q=spade&sort=relevance', ['after_id'], otherOrder],
      ['/users/?after_id=3&sort=name', ['after_id'], otherOrder],
      ['/reviews/?after_id=3&sort=-id', ['after_id'], otherOrder],
      ['/reviews/products/1?after_id=3&sort=rating', ['after_id'], otherOrder],
    ])
  })

  test('all errors of a request come at once, in the order of the parameters, however they were sent', async () => {
    const wrong = [
      ...['fields=x', 'count=0', 'sort=x', 'min_rating=0', 'below_price=x', 'max_price=1e999', 'min_price=-1'],
      ...['category_id=', 'id=x,1,y', `q=${'a'.repeat(201)}`, 'after_id=-1', 'limit=x', 'skip=-1'],
    ]
    expectRefusal(await api.get(`/products/?zoo=1&${wrong.join('&')}&ape=1&zoo=2`, STRICT), [
      at(['query', 'skip'], belowZero),
      at(['query', 'limit'], notDigits),
      at(['query', 'after_id'], belowZero),
      at(['query', 'q'], tooLongText),
      at(['query', 'id', 0], notDigits),
      at(['query', 'id', 2], notDigits),
      at(['query', 'category_id', 0], notDigits),
      at(['query', 'min_price'], belowZero),
      at(['query', 'max_price'], notFinite),
      at(['query', 'below_price'], notANumber),
      at(['query', 'min_rating'], belowOne),
      at(['query', 'sort'], notAmong(PRODUCT_SORTS)),
      at(['query', 'count'], belowOne),
      at(['query', 'fields', 0], notAmong(PRODUCT_FIELDS)),
      at(['query', 'zoo'], unknown),
      at(['query', 'ape'], unknown),
    ])
    expectRefusal(await api.get('/reviews/?fields=x&count=x&sort=x&rating=x&user_id=x&product_id=x&limit=-1'), [
      at(['query', 'limit'], belowZero),
      at(['query', 'product_id', 0], notDigits),
      at(['query', 'user_id', 0], notDigits),
      at(['query', 'rating', 0], notDigits),
      at(['query', 'sort'], notAmong("'id' or '-id'")),
      at(['query', 'count'], notDigits),
      at(
        ['query', 'fields', 0],
        notAmong("'*', 'id', 'product_id', 'user_id', 'rating', 'comment', 'user' or 'product'"),
      ),
    ])
    expectRefusal(await api.get('/reviews/products/x?limit=1001&rating=6'), [
      at(['path', 'product_id'], notDigits),
      at(['query', 'limit'], notAboveAThousand),
      at(['query', 'rating', 0], aboveFive),
    ])
  })

  test('combinations are checked only when every parameter is right by itself', async () => {
    await areRefused([
      ['/products/?cursor=x&skip=1&count=0', ['count'], belowOne],
      ['/products/?after_id=1&sort=price&min_rating=9', ['min_rating'], aboveFive],
    ])
    expectRefusal(await api.get('/reviews/products/x?cursor=x'), [at(['path', 'product_id'], notDigits)])
  })

  test('an error never repeats the input', async () => {
    const { body } = await api.get(
      '/products/?sort=secret&fields=secret&id=secret&min_price=secret&cursor=secret&q=secret',
    )
    expect(JSON.stringify(body)).not.toContain('secret')
  })
})

function notAmong(words: string): Fault {
  return { type: 'literal_error', msg: `Input should be ${words}` }
}

function atMost(most: number): Fault {
  return { type: 'less_than_equal', msg: `Input should be less than or equal to ${most}` }
}

function tooMany(most: number, sent: number): Fault {
  return { type: 'too_long', msg: `List should have at most ${most} items after validation, not ${sent}` }
}
