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
  const batches = await Array.fromAsync(csvLines(file.stream(), { resource: PRODUCT_LINES, ignored: () => {} }))
  isOver = true
  expect(batches.flat()).toHaveLength(20_000)
  expect(turns).toBeGreaterThan(5)
})
