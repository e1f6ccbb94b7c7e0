import { readFileSync } from 'node:fs'
import { constants } from 'node:os'

export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** The signals that end a worker in order. When a terminal is closed, its supervisor decides. */
export const WORKER_STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The signals that end this process in order. Under `nohup`, SIGHUP is not one of them: a handler would undo that. */
export function stopSignals(): readonly StopSignal[] {
  return heedsHangups() ? [...WORKER_STOP_SIGNALS, 'SIGHUP'] : WORKER_STOP_SIGNALS
}

/** Holds back the signals that would end this process until it is disposed of: then it ends by the one that came. */
export function heldSignals(): Disposable {
  let came: StopSignal | null = null
  const hold = (signal: StopSignal) => {
    came = signal
  }
  const signals = stopSignals()
  for (const signal of signals) process.on(signal, hold)
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, hold)
      if (came) process.kill(process.pid, came)
    },
  }
}

/** Only Linux tells whether a signal is ignored. Elsewhere, SIGHUP keeps its default effect. */
function heedsHangups(): boolean {
  if (process.platform !== 'linux') return false
  const [, ignored = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return ((BigInt(`0x${ignored}`) >> BigInt(constants.signals.SIGHUP - 1)) & 1n) === 0n
}
