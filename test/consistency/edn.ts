import type { Lists, Read, Write } from './history.ts'

interface Event {
  readonly at: number
  readonly type: 'invoke' | 'ok' | 'info'
  readonly process: string
  readonly transaction: string
}

/** Process numbers of one client: another one follows each request without an answer, as Jepsen's histories have it. */
const PROCESSES_OF_A_CLIENT = 100_000

/** Only these lists: the list of all reviews is made of the same appends. */
const KEY = /^reviews of product (\d+)$/

/**
 * A history of appends and reads as EDN, one operation a line, for the list-append checker of Jepsen's Elle: each append
 * is one transaction (`POST /reviews/`), and so is each read (`GET /products/{id}`). Times are nanoseconds.
 * https://github.com/jepsen-io/elle#usage
 */
export function ednHistory({ appends, reads }: Lists): string {
  const process = processNumbers(appends)
  const events = [
    ...appends.flatMap(append => eventsOfAppend(append, process(append))),
    ...reads.flatMap(read => eventsOfRead(read, process(read))),
  ]
  const lines = events
    .toSorted((one, other) => one.at - other.at)
    .map(
      ({ at, type, process, transaction }, index) =>
        `{:index ${index}, :time ${Math.round(at * 1_000_000)}, :type :${type}, :process ${process}, :f :txn, :value [${transaction}]}`,
    )
  return `${lines.join('\n')}\n`
}

function eventsOfAppend({ key, value, invokedAt, acknowledgedAt }: Write<string>, process: string): Event[] {
  const product = KEY.exec(key)?.[1]
  if (product === undefined) return []
  const transaction = `[:append ${product} ${numberOf(value)}]`
  const invoked: Event = { at: invokedAt, type: 'invoke', process, transaction }
  return acknowledgedAt === null
    ? [invoked, { ...invoked, type: 'info' }]
    : [invoked, { ...invoked, at: acknowledgedAt, type: 'ok' }]
}

function eventsOfRead({ key, value, invokedAt, completedAt }: Read<readonly string[]>, process: string): Event[] {
  const product = KEY.exec(key)?.[1]
  if (product === undefined) return []
  return [
    { at: invokedAt, type: 'invoke', process, transaction: `[:r ${product} nil]` },
    { at: completedAt, type: 'ok', process, transaction: `[:r ${product} [${value.map(numberOf).join(' ')}]]` },
  ]
}

/** Values are `client-number`, of which the number alone is unique. */
function numberOf(value: string): string {
  return value.slice(value.indexOf('-') + 1)
}

function processNumbers(
  appends: readonly Write<string>[],
): (operation: { client: number; invokedAt: number }) => string {
  const lost = appends.filter(({ key, acknowledgedAt }) => acknowledgedAt === null && KEY.test(key))
  return ({ client, invokedAt }) => {
    const before = lost.filter(append => append.client === client && append.invokedAt < invokedAt).length
    return String(client * PROCESSES_OF_A_CLIENT + before)
  }
}
