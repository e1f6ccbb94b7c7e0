import { median } from '../statistics.ts'
import type { Table } from '../table.ts'
import type { Cost, Pair, Row } from './turns.ts'

type Figure = keyof Cost

/** Shows the median of the ratios within each turn, in which other load on the machine affects both versions. */
export function versionsTable(title: string, rows: readonly Row[]): Table {
  const figures = (['requestsPerSecond', 'processorMicroseconds'] as const).filter(figure =>
    rows.some(row => known(row, figure).length > 0),
  )
  const heads: Record<Figure, string> = { requestsPerSecond: 'requests/s', processorMicroseconds: 'CPU µs' }
  return {
    title,
    columns: ['', ...figures.flatMap(figure => [`${heads[figure]} before`, 'now', 'now ÷ before (min–max)'])],
    rows: rows.map(row => [row.name, ...figures.flatMap(figure => cells(known(row, figure), figure))]),
    note: 'CPU µs: the processor time of the server for one request; of the chat and of markdown, for one piece of an answer.',
  }
}

function known({ turns }: Row, figure: Figure): Pair<number>[] {
  return turns.flatMap(([before, now]) => {
    const [first, second] = [before[figure], now[figure]]
    return first === null || second === null ? [] : [[first, second] as const]
  })
}

function cells(pairs: readonly Pair<number>[], figure: Figure): string[] {
  if (pairs.length === 0) return ['', '', '']
  const ratios = pairs.map(([before, now]) => now / before)
  const digits = figure === 'requestsPerSecond' ? 0 : 1
  const shown = (values: readonly number[]) =>
    median(values).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return [
    shown(pairs.map(([before]) => before)),
    shown(pairs.map(([, now]) => now)),
    `${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`,
  ]
}
