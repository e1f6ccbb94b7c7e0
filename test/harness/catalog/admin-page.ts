import { type Client, client } from '../client.ts'
import type { Service } from '../service.ts'

/** Opens pages as a browser without scripts does. */
export interface Visitor {
  readonly open: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Page>
  /** Sends a form. A field may have several values. */
  readonly send: (path: string, fields: Readonly<Record<string, string | readonly string[]>>) => Promise<Page>
}

export interface Page {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export function visitor({ address }: Pick<Service, 'address'>, always: Readonly<Record<string, string>> = {}): Visitor {
  const pages: Client = client(() => address, { Accept: 'text/html', ...always })
  const page = async (answer: ReturnType<Client['get']>): Promise<Page> => {
    const { status, headers, body } = await answer
    return { status, headers, text: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  return {
    open: (path, headers = {}) => page(pages.get(path, headers)),
    send: (path, fields) => {
      const body = new URLSearchParams()
      for (const [name, values] of Object.entries(fields)) for (const value of [values].flat()) body.append(name, value)
      return page(pages.send(path, { method: 'POST', body }))
    },
  }
}

/** The items that the deletion buttons of a page name, as they are sent. */
export function itemsIn({ text }: Page): string[] {
  return [...text.matchAll(/data-item="([^"]*)"/g)].map(([, item = '']) => item.replaceAll('&quot;', '"'))
}

/** The value of a field with this name. */
export function fieldIn({ text }: Page, name: string): string {
  const input = new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(text)?.[0] ?? ''
  return (/value="([^"]*)"/.exec(input)?.[1] ?? '').replaceAll('&quot;', '"')
}
