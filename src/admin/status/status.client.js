// Draws the charts of the page's event stream, and says whether the stream is open.

// In the locale C, Chromium on Linux names a language that its own formatters refuse. uPlot, which is loaded next, would fail.
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' })
}

const KEPT_POINTS = 600
const HEIGHT = 140
/** A server that has just started has a chart of this length. */
const SHOWN_MIN_SECONDS = 120
const AXIS = { font: '11px system-ui', labelFont: '11px system-ui', ticks: { show: false }, size: 30 }
const DASHES = { dashed: [7, 4], dotted: [2, 3] }

const connection = document.getElementById('connection')
const plots = [...document.querySelectorAll('.plot')].map(element => ({ element, chart: null }))

// One list of times and one of values for each series, as the stream sends them.
let times = []
let series = []

let source = null

document.addEventListener('htmx:sseOpen', ({ detail }) => {
  become('live', 'Live')
  // A browser opens the same source again when its connection was lost.
  if (detail.source === source) return
  source = detail.source
  source.addEventListener('Points', ({ data }) => {
    const points = JSON.parse(data)
    if (points.isFirst) [times, series] = [[], points.series.map(() => [])]
    times = [...times, ...points.times].slice(-KEPT_POINTS)
    series = series.map((values, place) => [...values, ...points.series[place]].slice(-KEPT_POINTS))
    for (const plot of plots) draw(plot)
  })
  source.addEventListener('OtherCharts', () => location.reload())
})
document.addEventListener('htmx:sseError', () => become('interrupted', 'The connection was lost. Trying again…'))

// Colours and widths are read from the page when a chart is made.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const plot of plots) {
    plot.chart?.destroy()
    plot.chart = null
    draw(plot)
  }
})
const resizing = new ResizeObserver(entries => {
  for (const { target } of entries) {
    plots.find(({ element }) => element === target)?.chart?.setSize({ width: target.clientWidth, height: HEIGHT })
  }
})
for (const { element } of plots) resizing.observe(element)

function become(state, text) {
  document.body.dataset.state = state
  if (connection.textContent !== text) connection.textContent = text
}

function draw(plot) {
  if (times.length === 0) return
  const first = Number(plot.element.dataset.first)
  const lines = linesOf(plot.element)
  const data = [times, ...lines.map((_, place) => series[first + place])]
  if (plot.chart) plot.chart.setData(data)
  else plot.chart = new uPlot(optionsOf(plot.element, lines), data, plot.element)
}

// The rows of the table under the chart name its lines and look like them.
function linesOf(element) {
  return [...element.parentElement.querySelectorAll('tbody th')].map(row => {
    const { borderTopColor, borderTopStyle, borderTopWidth } = getComputedStyle(row.querySelector('.line'))
    const width = Number.parseFloat(borderTopWidth) / 2
    return { label: row.textContent.trim(), stroke: borderTopColor, dash: DASHES[borderTopStyle], width }
  })
}

function optionsOf(element, lines) {
  const { unit } = element.dataset
  const scales = JSON.parse(element.dataset.scales)
  const { color, borderTopColor: faint } = getComputedStyle(element)
  const grid = { stroke: faint, width: 1 }
  const readout = element.parentElement.querySelector('.readout')
  const filled = lines.length === 1 ? `color-mix(in srgb, ${lines[0].stroke} 14%, transparent)` : undefined
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 6, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: 'status' }, y: false, points: { size: 7 } },
    scales: {
      x: { time: true, range: () => [Math.min(times[0], times.at(-1) - SHOWN_MIN_SECONDS), times.at(-1)] },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, leastTop(unit))] },
    },
    axes: [
      { ...AXIS, stroke: color, grid: { show: false }, space: 70, values: timesOf },
      {
        ...AXIS,
        stroke: color,
        grid,
        size: 58,
        space: 34,
        ...(unit === 'bytes' && { incrs: POWERS_OF_TWO }),
        values: (_, at) => at.map(value => textOf(value, scales)),
      },
    ],
    series: [{}, ...lines.map(line => ({ ...line, points: { show: false }, fill: filled }))],
    hooks: {
      setCursor: [
        ({ cursor: { idx }, data }) => {
          readout.textContent = Number.isInteger(idx)
            ? `${timeOf(data[0][idx], true)} · ${lines.map(({ label }, place) => `${label} ${textOf(data[place + 1][idx], scales)}`).join(' · ')}`
            : ''
        },
      ],
    },
  }
}

const POWERS_OF_TWO = Array.from({ length: 32 }, (_, place) => 2 ** (place + 10))

// So that noise near zero does not fill a chart.
function leastTop(unit) {
  return { seconds: 0.001, bytes: 1_048_576, percent: 100 }[unit] ?? 4
}

function textOf(value, scales) {
  if (value === null || value === undefined) return '–'
  if (value === 0) return '0'
  const [from, suffix] = scales.find(([from]) => value >= from) ?? scales.at(-1)
  return (value / from).toLocaleString('en', { maximumSignificantDigits: 3, notation: 'compact' }) + suffix
}

function timesOf(_, at, __, ___, step) {
  return at.map(value => timeOf(value, step < 60))
}

function timeOf(seconds, withSeconds = false) {
  const format = { hour: '2-digit', minute: '2-digit', ...(withSeconds && { second: '2-digit' }), hour12: false }
  return new Date(seconds * 1_000).toLocaleTimeString('en-GB', format)
}
