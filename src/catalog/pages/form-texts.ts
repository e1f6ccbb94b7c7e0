import { PASSWORD_MASK } from '../users/schema.ts'
import type { Field, ManagedKind } from './managed.ts'
import { price } from './tables.tsx'

/** The texts of a form's fields by their names. A flag is `on` or empty. */
export type Texts = Readonly<Record<string, string>>

/** The body of a request, made of the texts of a form. `seen` are the texts of the resource as it is. */
export function bodyOf({ fields }: ManagedKind, texts: Texts, seen: Texts | null): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const text = texts[name] ?? ''
    if (kind === 'price') body[name] = numberIn(text)
    else if (kind === 'password') body[name] = text === '' && seen ? PASSWORD_MASK : text
    else if (kind === 'flag') {
      // One that stays as it is keeps its number, whatever that is.
      if (text !== seen?.[name]) body[name] = text === '' ? 0 : 1
    } else body[name] = seen && text === inField(seen[name] ?? '', kind) ? seen[name] : text
  }
  return body
}

/** A text as its field sends it if nobody has changed it: one line has no line breaks, and a text area has one kind of them. */
export function inField(text: string, kind: Field['kind']): string {
  return kind === 'text' ? text.replace(/\r\n?/g, '\n') : text.replace(/[\r\n]/g, '')
}

/** Some write 1250 like this, others 1.25. */
const AMBIGUOUS_NUMBER = /^[1-9]\d{0,2},\d{3}$/

/** A number as people write it, with a comma or a point. Other text stays text, and the interface says what is wrong. */
function numberIn(text: string): number | string {
  const trimmed = text.trim()
  if (AMBIGUOUS_NUMBER.test(trimmed)) return text
  const plain = trimmed.replace(',', '.')
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : text
}

export function textsOf({ fields }: ManagedKind, value: Readonly<Record<string, unknown>>): Texts {
  const textOf = ({ name, kind }: Field): string => {
    if (kind === 'password') return ''
    if (kind === 'flag') return value[name] === 0 ? '' : 'on'
    return kind === 'price' ? price(Number(value[name])) : String(value[name])
  }
  return Object.fromEntries(fields.map(field => [field.name, textOf(field)]))
}

/** The texts of a form that was sent. */
export function textsIn({ fields }: ManagedKind, text: (name: string) => string): Texts {
  return Object.fromEntries(fields.map(({ name }) => [name, text(name)]))
}
