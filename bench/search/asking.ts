/** One request's answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly milliseconds: number
  readonly headers: Headers
  readonly body: string
}

const BUSY = 503
const RETRY_MS = 500

/** How long a service may build its index before it answers. */
const BUILD_MAX_MS = 1_800_000

/** Asks over the connection that was used before. Not compressed, because compression is not what is measured. */
export async function ask(address: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const begun = performance.now()
  const response = await fetch(address + path, {
    ...init,
    headers: { 'Accept-Encoding': 'identity', ...init.headers },
  })
  const body = await response.text()
  return { status: response.status, milliseconds: performance.now() - begun, headers: response.headers, body }
}

/** Asks for something that must be there. */
export async function askRight(address: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await ask(address, path, init)
  if (answer.status !== 200) {
    throw new Error(`${init.method ?? 'GET'} ${path} was answered with ${answer.status}: ${answer.body.slice(0, 200)}`)
  }
  return answer
}

/** Waits until searches are answered; returns after how many seconds. */
export async function untilSearchable(address: string, interrupted: AbortSignal): Promise<number> {
  const begun = performance.now()
  for (;;) {
    interrupted.throwIfAborted()
    const { status, body } = await ask(address, '/products/?q=zebra&limit=1')
    const waited = performance.now() - begun
    if (status === 200) return waited / 1000
    if (status !== BUSY || waited > BUILD_MAX_MS) throw new Error(`a search was answered with ${status}: ${body}`)
    await Bun.sleep(RETRY_MS)
  }
}

/** The path of the next page. */
export function nextPage({ headers }: Answer): string | null {
  return /<([^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1] ?? null
}

/** Creates so many products at once; with one, as a single product. */
export async function createProducts(address: string, count: number, number: number): Promise<void> {
  const product = (place: number) =>
    JSON.stringify({ name: `Fresh chair ${number} ${place}`, description: 'A chair that is new.', price: 10 + place })
  const lines = Array.from({ length: count }, (_, place) => product(place))
  const type = count === 1 ? 'application/json' : 'application/x-ndjson'
  await askRight(address, '/products/', {
    method: 'POST',
    headers: { 'Content-Type': type },
    body: lines.join('\n'),
  })
}
