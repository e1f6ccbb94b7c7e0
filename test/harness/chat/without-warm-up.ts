/** How long after its start a chat compiles the languages that answers use most. Nothing else there waits exactly so long. */
const WARM_UP_DELAY_MS = 2_000

/** Longer than any test. */
const NEVER_MS = 2 ** 31 - 1

const { setTimeout: start } = globalThis

/**
 * Preloaded into a chat, this leaves its warm-up out: it takes as much of the processor as five starts, in each process
 * that a test keeps for more than two seconds. What an answer needs is then compiled when it comes.
 */
globalThis.setTimeout = Object.assign(
  (run: (...given: unknown[]) => void, milliseconds?: number, ...given: unknown[]) =>
    start(run, milliseconds === WARM_UP_DELAY_MS ? NEVER_MS : milliseconds, ...given),
  start,
)
