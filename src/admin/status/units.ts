import type { ChartUnit } from './charts.ts'

const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, useGrouping: true })

/** The larger units first, each with its factor. */
export const SCALES: Readonly<Record<ChartUnit, readonly (readonly [from: number, unit: string])[]>> = {
  count: [[1, '']],
  'per second': [[1, '/s']],
  percent: [[1, ' %']],
  seconds: [
    [1, ' s'],
    [0.001, ' ms'],
    [0.000001, ' µs'],
  ],
  bytes: [
    [1_073_741_824, ' GiB'],
    [1_048_576, ' MiB'],
    [1_024, ' KiB'],
    [1, ' B'],
  ],
}

/** A number as people read it, with three digits that matter; a dash for nothing. */
export function shown(value: number | null, unit: ChartUnit): string {
  if (value === null) return '–'
  const scales = SCALES[unit]
  const [from, suffix] = scales.find(([from]) => value >= from) ?? scales.at(-1) ?? [1, '']
  const scaled = value / from
  // From 1,000 on, all digits before the point are shown.
  return `${scaled >= 1_000 ? Math.round(scaled).toLocaleString('en') : NUMBER.format(scaled)}${suffix}`
}

/** A time span in its two largest units. */
export function shownSpan(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60].map(Math.floor)
  if (days) return `${days} d ${hours} h`
  if (hours) return `${hours} h ${minutes} min`
  return minutes ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`
}
