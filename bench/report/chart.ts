/** A figure over something that grows: one panel of a picture. */
export interface Panel {
  readonly title: string
  readonly lines: readonly Line[]
}

export interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Picture {
  readonly title: string
  /** The label of the horizontal axis. */
  readonly across: string
  readonly panels: readonly Panel[]
}

const COLUMNS = 3
const PANEL = { width: 300, height: 190 }
const PLOT = { left: 48, top: 30, right: 14, bottom: 30 }
const HEADER_HEIGHT = 62

/** For the lines in their order. Each is legible on a white and on a black page, and to people who cannot tell red from green. */
const COLORS = ['#2f81f7', '#d9822b', '#8c8c8c']

/** The picture has a background of its own, light or dark as the reader's system asks, so it is legible on any page. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .panel { font-weight: 600 }
  .tick { font-size: 10px; fill: #59636e }
  .page { fill: #ffffff }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .tick { fill: #9198a1 }
    .page { fill: #0d1117 }
    .grid { stroke: #3d444d }
  }`

/** Draws small panels side by side. Horizontal axes are logarithmic, vertical ones begin at 0. */
export function drawn({ title, across, panels }: Picture): string {
  const width = COLUMNS * PANEL.width
  const height = HEADER_HEIGHT + Math.ceil(panels.length / COLUMNS) * PANEL.height
  const names = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))]
  const parts = panels.map((panel, index) => {
    const [left, top] = [(index % COLUMNS) * PANEL.width, HEADER_HEIGHT + Math.floor(index / COLUMNS) * PANEL.height]
    return `<g transform="translate(${left} ${top})">${drawnPanel(panel, names)}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}
</style>
<rect class="page" width="${width}" height="${height}" rx="6"/>
<text class="title" x="16" y="26">${escaped(title)}</text>
${legend(names)}
<text class="tick" x="${width - 16}" y="26" text-anchor="end">${escaped(across)}, from left to right</text>
${parts.join('\n')}
</svg>
`
}

function legend(names: readonly string[]): string {
  let left = 16
  return names
    .map((name, index) => {
      const entry = `<line class="line" x1="${left}" x2="${left + 22}" y1="46" y2="46" stroke="${COLORS[index]}"/>
<text x="${left + 28}" y="50">${escaped(name)}</text>`
      left += 50 + name.length * 7
      return entry
    })
    .join('\n')
}

function drawnPanel({ title, lines }: Panel, names: readonly string[]): string {
  const points = lines.flatMap(line => line.points)
  const columns = [...new Set(points.map(({ x }) => x))].toSorted((left, right) => left - right)
  const top = roundedUp(Math.max(...points.map(({ y }) => y)))
  const [right, bottom] = [PANEL.width - PLOT.right, PANEL.height - PLOT.bottom]
  const [first = 1, last = 1] = [columns[0], columns.at(-1)]
  const span = Math.log(last / first) || 1
  const across = (x: number) => PLOT.left + (Math.log(x / first) / span) * (right - PLOT.left)
  const up = (y: number) => bottom - (y / top) * (bottom - PLOT.top)

  const grid = [0, top / 2, top].map(
    y => `<line class="grid" x1="${PLOT.left}" x2="${right}" y1="${up(y)}" y2="${up(y)}"/>
<text class="tick" x="${PLOT.left - 6}" y="${up(y) + 3}" text-anchor="end">${short(y)}</text>`,
  )
  const ticks = columns.map(
    x => `<text class="tick" x="${across(x).toFixed(1)}" y="${bottom + 15}" text-anchor="middle">${short(x)}</text>`,
  )
  const curves = lines.map(line => {
    const color = COLORS[names.indexOf(line.name)]
    const places = line.points.map(({ x, y }) => [across(x).toFixed(1), up(y).toFixed(1)] as const)
    const dots = places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="2.5" fill="${color}"/>`)
    return `<polyline class="line" stroke="${color}" points="${places.map(place => place.join(',')).join(' ')}"/>${dots.join('')}`
  })
  return `<text class="panel" x="16" y="18">${escaped(title)}</text>
${[...grid, ...ticks, ...curves].join('\n')}`
}

/** The next number of the form 1, 2, 4, 5 or 10 times a power of ten. */
function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return ([1, 2, 4, 5, 10].find(step => step * power >= value) ?? 10) * power
}

function short(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`
  return String(Number(value.toPrecision(3)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
