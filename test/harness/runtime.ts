import { TORTURE_VARIABLE } from './campaign.ts'

/**
 * Settings of the runtime for programs that live for less than a second, as most in tests do. For them, compiling functions, preparing
 * memory for the garbage collector, and collecting whenever they are idle take a third of their CPU time.
 */
const SHORT_LIVED = {
  BUN_JSC_thresholdForJITAfterWarmUp: '20000',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '20000',
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '1000000',
  BUN_JSC_useWarmUpMarkedBlocks: '0',
  BUN_GC_TIMER_DISABLE: '1',
}

/** Half as many as by default: a service opens them when it starts, and each is a process of PostgreSQL that lives as briefly. */
const FEW_CONNECTIONS = { DATABASE_CONNECTIONS: '2' }

/** Settings for programs that tests start. Those of `npm run torture` run as in production. */
export const ofPrograms: Readonly<Record<string, string>> =
  process.env[TORTURE_VARIABLE] === undefined ? { ...SHORT_LIVED, ...FEW_CONNECTIONS } : {}

/** Settings for the processes that run tests: some functions of the tools are worth compiling, and memory is soon used again. */
export const OF_TESTS = {
  ...SHORT_LIVED,
  BUN_JSC_thresholdForJITAfterWarmUp: '2000',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '5000',
  MIMALLOC_PURGE_DELAY: '-1',
}
