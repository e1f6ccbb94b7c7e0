import { expect, test } from 'bun:test'
import { csvLines } from './csv.ts'
import { PRODUCT_LINES } from './resources.ts'

test('a chunk with tens of thousands of short lines leaves everybody else a turn', async () => {
  let turns = 0
  let isOver = false
  const nextTurn = () => {
    turns += 1
    if (!isOver) setImmediate(nextTurn)
  }
  nextTurn()
  const file = new Blob([`name,description,price\n${'x\n'.repeat(20_000)}`])
  const batches = await Array.fromAsync(linesOf(file.stream()))
  isOver = true
  expect(batches.flat()).toHaveLength(20_000)
  expect(turns).toBeGreaterThan(5)
})

test('a character may be split between two chunks', async () => {
  const bytes = Buffer.from('name,description,price\nGrün 🌱,Steel,1\n')
  const chunks = (async function* () {
    for (const byte of bytes) yield Uint8Array.of(byte)
  })()
  const batches = await Array.fromAsync(linesOf(chunks))
  expect(batches.flat()).toEqual([{ number: 2, value: { name: 'Grün 🌱', description: 'Steel', price: 1 } }])
})

test('a file of its first line alone is refused if that names too little, even without a line break', async () => {
  const chunks = (async function* () {
    yield Buffer.from('name,price')
  })()
  await expect(Array.fromAsync(linesOf(chunks))).rejects.toThrow('lacks description')
})

test('a first line that is too long is not held until it ends', async () => {
  let chunks = 0
  const endless = (async function* () {
    for (; chunks < 100; chunks += 1) yield Buffer.alloc(65_536, 'x')
  })()
  await expect(Array.fromAsync(linesOf(endless))).rejects.toThrow('line 1: the line is longer than')
  expect(chunks).toBeLessThan(30)
})

function linesOf(chunks: AsyncIterable<Uint8Array>) {
  return csvLines(chunks, { resource: PRODUCT_LINES, ignored: () => {} })
}
