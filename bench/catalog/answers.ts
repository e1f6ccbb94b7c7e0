import { type CannedAnswer, type CatalogRequests, kindsOf, type Workload } from './workloads.ts'

/** The number of requests of each kind to compare, spread evenly over all of them. */
const SAMPLES = 25

export interface Question {
  readonly method: string
  readonly path: string
  readonly body?: string
}

export interface Answer {
  readonly question: Question
  /** The name of the workload, if it is a sample of one. */
  readonly workload?: string
  /** Its kind of request, if it is a sample of one. */
  readonly kind?: CatalogRequests
  readonly status: number
  readonly isJson: boolean
  readonly text: string
}

/**
 * Requests for each workload that follow all writes: edge cases of lists, and requests that must be rejected. For rejected
 * ones only the status is compared, because each framework words its errors differently.
 */
const BOUNDS: Readonly<Record<string, readonly Question[]>> = {
  product: [
    { method: 'GET', path: '/products/999999999' },
    { method: 'GET', path: '/products/seven' },
  ],
  review: [
    { method: 'GET', path: '/reviews/999999999' },
    { method: 'GET', path: '/reviews/seven' },
  ],
  category: [
    { method: 'GET', path: '/categories/999999999' },
    { method: 'GET', path: '/categories/seven' },
  ],
  'list-100': [
    { method: 'GET', path: '/products/' },
    { method: 'GET', path: '/products/?limit=0' },
    { method: 'GET', path: '/products/?skip=1000000' },
    { method: 'GET', path: '/products/?limit=-1' },
  ],
  categories: [
    { method: 'GET', path: '/categories/?limit=3' },
    { method: 'GET', path: '/categories/?skip=1000000' },
    { method: 'GET', path: '/categories/?limit=-1' },
  ],
  reviews: [{ method: 'GET', path: '/reviews/products/999999999' }],
  create: [
    { method: 'POST', path: '/products/', body: '{"name":"ab","description":"","price":1}' },
    { method: 'POST', path: '/products/', body: '{"name":"without a price","description":""}' },
    { method: 'POST', path: '/products/', body: '{"name":"a present","description":"","price":0}' },
  ],
  update: [
    { method: 'PUT', path: '/products/999999999', body: '{"name":"nothing","description":"","price":1}' },
    { method: 'PUT', path: '/products/1', body: `{"name":"${'x'.repeat(51)}","description":"","price":1}` },
  ],
  'create-review': [
    { method: 'POST', path: '/reviews/', body: '{"product_id":999999999,"user_id":1,"rating":5,"comment":""}' },
    { method: 'POST', path: '/reviews/', body: '{"product_id":1,"user_id":999999999,"rating":5,"comment":""}' },
    { method: 'POST', path: '/reviews/', body: '{"product_id":1,"user_id":1,"rating":6,"comment":""}' },
    { method: 'POST', path: '/reviews/', body: '{"product_id":1,"user_id":1,"rating":1.5,"comment":""}' },
    { method: 'POST', path: '/reviews/', body: '{"product_id":1,"user_id":1,"rating":5}' },
  ],
}

/**
 * Sends samples of each workload to a server on a fresh copy of the database, reads back its writes, and sends requests that
 * it must reject. Every server gets the same requests in the same order.
 */
export async function answersOf(address: string, workloads: readonly Workload[]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const workload of workloads) {
    for (const kind of kindsOf(workload)) {
      for (const question of samplesOf(kind)) {
        const answer = await askSuccessfully(address, question)
        answers.push({ ...answer, workload: workload.name, kind })
        if (question.method === 'GET') continue
        const [, collection] = question.path.split('/')
        answers.push(await askSuccessfully(address, { method: 'GET', path: `/${collection}/${idIn(answer)}` }))
      }
    }
  }
  for (const { name } of workloads) {
    for (const question of BOUNDS[name] ?? []) answers.push(await ask(address, question))
  }
  return answers
}

/** The answer of median length, as a typical one of its kind. */
export function typicalAnswer({ name }: Workload, kind: CatalogRequests, answers: readonly Answer[]): CannedAnswer {
  const byLength = answers
    .filter(answer => answer.workload === name && answer.kind === kind)
    .toSorted((left, right) => left.text.length - right.text.length)
  const typical = byLength[Math.floor(byLength.length / 2)]
  if (!typical) throw new Error(`nothing answered ${name}`)
  return { method: kind.method, route: kind.route, body: typical.text }
}

export function samplesOf({ method, paths, bodies }: CatalogRequests): Question[] {
  const amount = Math.min(SAMPLES, Math.max(paths.length, bodies.length))
  return Array.from({ length: amount }, (_, index) => {
    const path = paths[Math.floor((index * paths.length) / amount)] ?? ''
    const body = bodies[Math.floor((index * bodies.length) / amount)]
    return body === undefined ? { method, path } : { method, path, body }
  })
}

export async function ask(address: string, question: Question): Promise<Answer> {
  const { method, path, body } = question
  const response = await fetch(
    address + path,
    body === undefined ? { method } : { method, body, headers: { 'content-type': 'application/json' } },
  )
  return {
    question,
    status: response.status,
    isJson: (response.headers.get('content-type') ?? '').startsWith('application/json'),
    text: await response.text(),
  }
}

async function askSuccessfully(address: string, question: Question): Promise<Answer> {
  const answer = await ask(address, question)
  if (answer.status === 200) return answer
  throw new Error(`${question.method} ${question.path} was answered with status ${answer.status}: ${answer.text}`)
}

function idIn({ question, text }: Answer): number {
  const resource: unknown = JSON.parse(text)
  const id = typeof resource === 'object' && resource !== null && 'id' in resource ? resource.id : undefined
  if (typeof id === 'number') return id
  throw new Error(`${question.method} ${question.path} was answered without an id: ${text}`)
}
