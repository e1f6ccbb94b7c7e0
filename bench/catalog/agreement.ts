import { startServer } from '../server-process.ts'
import { type Answer, answersOf, ask, samplesOf } from './answers.ts'
import type { Bench } from './bench.ts'
import { type Contestant, SERVICE } from './servers.ts'
import { type CannedAnswers, kindsOf } from './workloads.ts'

/** Longer values are cut in error messages. */
const SHOWN_MAX_CHARACTERS = 80

/**
 * Throws at the first answer of a peer that differs from the service's: a peer that does other work is not comparable. Resolves to
 * the service's answers.
 */
export async function proveAgreement(bench: Bench, peers: readonly Contestant[]): Promise<readonly Answer[]> {
  const expected = await answersFrom(bench, SERVICE)
  for (const peer of peers) {
    mustAgree(peer, await answersFrom(bench, peer), expected)
    console.error(`${peer.name} gives the same answers as ${SERVICE.name}`)
  }
  return expected
}

function mustAgree(peer: Contestant, actual: readonly Answer[], expected: readonly Answer[]): void {
  for (const [index, right] of expected.entries()) {
    const given = actual[index]
    const difference = given === undefined ? 'no answer' : differenceOf(right, given)
    if (difference === null) continue
    const { method, path } = right.question
    throw new Error(`${peer.name} answers ${method} ${path} differently from ${SERVICE.name}: ${difference}`)
  }
}

/** Throws unless the ceiling answers each workload with the bytes meant for it. */
export async function proveCeiling(
  { workloads, interrupted }: Bench,
  ceiling: Contestant,
  canned: CannedAnswers,
): Promise<void> {
  for (const workload of workloads) {
    await using server = await startServer(ceiling.on('', workload), interrupted)
    for (const [index, kind] of kindsOf(workload).entries()) {
      for (const question of samplesOf(kind)) {
        const { text } = await ask(server.address, question)
        if (text === canned[workload.name]?.[index]?.body) continue
        throw new Error(`${ceiling.name} answers ${question.method} ${question.path} with the wrong bytes`)
      }
    }
  }
}

/** The answers of a server on fresh copies of the databases. */
async function answersFrom({ seeded, workloads, interrupted }: Bench, server: Contestant): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const rows of new Set(workloads.map(workload => workload.rows))) {
    const database = await seeded(rows)
    await using copy = await database.copy(true)
    await using running = await startServer(server.on(copy.address), interrupted)
    const over = workloads.filter(workload => workload.rows === rows)
    answers.push(...(await answersOf(running.address, over)))
  }
  return answers
}

function differenceOf(expected: Answer, actual: Answer): string | null {
  if (actual.status !== expected.status) return `status ${actual.status} instead of ${expected.status}`
  if (expected.status !== 200) return null
  if (!actual.isJson) return 'its content type is not JSON'
  return differenceOfValues(JSON.parse(expected.text), JSON.parse(actual.text), 'its body')
}

/** Describes the first difference between two JSON values; the order of an object's members does not matter. */
function differenceOfValues(expected: unknown, actual: unknown, place: string): string | null {
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length !== actual.length) {
    return `${place} has ${actual.length} items instead of ${expected.length}`
  }
  if (!isComposite(expected) || !isComposite(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    return Object.is(expected, actual) ? null : `${place} is ${shown(actual)} instead of ${shown(expected)}`
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const difference = differenceOfValues(expected[key], actual[key], `${place}.${key}`)
    if (difference !== null) return difference
  }
  return null
}

function isComposite(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent'
  return text.length <= SHOWN_MAX_CHARACTERS ? text : `${text.slice(0, SHOWN_MAX_CHARACTERS)}…`
}
