import { expect, test } from 'bun:test'
import { appearance, DEMO_CATEGORIES, goods, opinion, people } from './goods.ts'
import { picture } from './pictures.ts'
import { Random } from './random.ts'

test('the goods are 500, always the same, each with a name of its own that fits the catalog', () => {
  const all = goods()
  expect(all).toHaveLength(500)
  expect(goods()).toEqual(all)
  expect(new Set(all.map(({ name }) => name)).size).toBe(500)
  expect(all.filter(({ name }) => name.length < 3 || name.length > 50)).toEqual([])
})

test('each kind belongs to a category of the shop, and each name tells its kind', () => {
  const names = DEMO_CATEGORIES.map(({ name }) => name)
  for (const { kind, name } of goods()) {
    expect(names).toContain(kind.category)
    expect(appearance(name)?.kind).toBe(kind)
  }
})

test('each kind has a picture of its own, and all are SVG without anything foreign', () => {
  const kinds = [...new Map(goods().map(good => [good.kind, good])).values()]
  const pictures = kinds.map(({ name }) => picture(1, name))
  expect(kinds.length).toBe(40)
  expect(new Set(pictures).size).toBe(40)
  for (const svg of pictures)
    expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(/https?:|NaN|undefined/)
})

test('a better product gets better reviews, and each review says something', () => {
  const random = new Random(1)
  const [good] = goods()
  if (!good) throw new Error('no goods')
  const mean = (quality: number) => {
    const opinions = Array.from({ length: 200 }, () => opinion({ ...good, quality }, random))
    for (const { rating, comment } of opinions) {
      expect([1, 2, 3, 4, 5]).toContain(rating)
      expect(comment).toMatch(/^[A-Z].*[.!]$/)
      expect(comment).not.toContain('undefined')
    }
    return opinions.reduce((sum, { rating }) => sum + rating, 0) / opinions.length
  }
  expect(mean(4.7)).toBeGreaterThan(mean(3.2) + 0.7)
})

test('the reviewers have different names', () => {
  expect(new Set(people()).size).toBe(240)
})
