import { appearance } from './goods.ts'
import { Random } from './random.ts'

/** Calm grounds, for light and dark. */
const GROUNDS = [
  ['#f1ebe0', '#2b2924'],
  ['#e6ede2', '#252c25'],
  ['#e3ebf0', '#232a30'],
  ['#f2e6e2', '#302624'],
  ['#ebe6f0', '#2a2630'],
  ['#f3eddb', '#2d2a20'],
  ['#e1eeec', '#202d2b'],
  ['#eee7e7', '#2c2727'],
] as const

const FIXED_SHADES: Readonly<Record<string, string>> = {
  p: '#fbf8f1',
  w: '#b98a5e',
  g: '#6f9460',
  y: '#f3cf73',
  o: '#e38a49',
}

/** Drawn for products that are not the demo's own: a parcel. */
const PARCEL = ['a#22,34,56,48,4', 'b#22,34,56,10,4', 'c#46,34,8,48,0']

/**
 * The picture of a product: its name says what to draw, its id on which ground. The name is never repeated in it.
 */
export function picture(id: number, name: string): string {
  const random = new Random(id)
  const [light, dark] = random.of(GROUNDS)
  const { kind, style } = appearance(name) ?? { kind: null, style: { color: '#a98258' } }
  const shapes = kind?.picture ?? PARCEL
  const turn = shapes.find(shape => shape.startsWith('r'))?.slice(1)
  const drawn = shapes.filter(shape => !shape.startsWith('r')).map(shape => drawing(shape, style.color))
  const [sunX, sunY, hill] = [22 + random.below(56), 26 + random.below(24), 66 + random.below(10)]
  const shadow = turn === undefined ? '<ellipse cx="50" cy="84" rx="34" ry="4" opacity=".12"/>' : ''
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -10 120 120"><style>.g{fill:${light}}.s{fill:#fff;opacity:.55}.h{opacity:.05}@media(prefers-color-scheme:dark){.g{fill:${dark}}.s{opacity:.06}.h{opacity:.25}}</style><path class="g" d="M-10-10h120v120h-120z"/><circle class="s" cx="${sunX}" cy="${sunY}" r="38"/><path class="h" d="M-10 ${hill + 8}Q${sunX} ${hill - 8} 110 ${hill + 4}V110H-10Z"/>${shadow}<g stroke-linecap="round" stroke-linejoin="round"${turn === undefined ? '' : ` transform="rotate(${turn} 50 50)"`}>${drawn.join('')}</g></svg>`
}

/**
 * One shape of the vocabulary: a shade, then a circle `@x,y,r`, an ellipse `^x,y,rx,ry`, a rectangle `#x,y,w,h,r`, a line
 * `-width path`, or a filled path.
 */
function drawing(shape: string, color: string): string {
  const [shade = '', form = '', rest = ''] = [shape.charAt(0), shape.charAt(1), shape.slice(2)]
  const fill = shadeOf(shade, color)
  const [x, y, third, fourth, fifth] = rest.split(',')
  if (form === '@') return `<circle cx="${x}" cy="${y}" r="${third}" fill="${fill}"/>`
  if (form === '^') return `<ellipse cx="${x}" cy="${y}" rx="${third}" ry="${fourth}" fill="${fill}"/>`
  if (form === '#') return `<rect x="${x}" y="${y}" width="${third}" height="${fourth}" rx="${fifth}" fill="${fill}"/>`
  if (form !== '-') return `<path d="${rest}" fill="${fill}"/>`
  const [width = ''] = rest.split(' ')
  return `<path d="${rest.slice(width.length + 1)}" fill="none" stroke="${fill}" stroke-width="${width}"/>`
}

function shadeOf(shade: string, color: string): string {
  if (shade === 'b') return `color-mix(in srgb,${color},#fff 35%)`
  if (shade === 'c') return `color-mix(in srgb,${color},#000 32%)`
  return FIXED_SHADES[shade] ?? color
}
