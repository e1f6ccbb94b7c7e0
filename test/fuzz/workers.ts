import fc, { type Arbitrary } from 'fast-check'

export interface Finding {
  /** With the request that shows it, as simple as could be found. */
  readonly report: string
}

/** Runs one kind of requests. */
export interface Runner<Request> extends Disposable {
  /** Rejects if something is wrong. */
  readonly run: (request: Request) => Promise<void>
}

interface Requests<Request> {
  readonly seed: number
  readonly requests: number
  readonly arbitrary: Arbitrary<Request>
}

/** Each worker has its own requests, one after the other. The first that finds something stops all. */
export async function inWorkers<Request>(
  workers: number,
  { seed, requests, arbitrary }: Requests<Request>,
  start: () => Runner<Request>,
): Promise<Finding | null> {
  let failed: number | null = null
  const findings = Array.from({ length: workers }, async (_, worker) => {
    using runner = start()
    const property = fc.asyncProperty(arbitrary, async request => {
      if (failed !== null && failed !== worker) return
      try {
        await runner.run(request)
      } catch (error) {
        failed ??= worker
        if (failed === worker) throw error
      }
    })
    const details = await fc.check(property, { seed: seed + worker, numRuns: Math.ceil(requests / workers) })
    if (!details.failed) return null
    const { numRuns, numShrinks, errorInstance } = details
    const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
    const where = `worker ${worker} of ${workers}, its request ${numRuns}, simplified ${numShrinks} times, seed ${seed}`
    return { report: `${reason}\n${where}` }
  })
  return (await Promise.all(findings)).find(finding => finding !== null) ?? null
}
