import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorMessage } from '../../src/error-message.ts'
import type { Measurement } from '../comparison.ts'

const TRIES = 3

/** Measurements on disk, so that an interrupted report goes on where it stopped. */
export interface KeptFigures {
  /** The measurement with this name: a kept one, or else a new one. */
  readonly once: (name: string, measure: () => Promise<Measurement>) => Promise<Measurement>
  readonly measured: (name: string) => Measurement | null
}

export async function keptFigures(file: string): Promise<KeptFigures> {
  const kept: Record<string, Measurement> = (await Bun.file(file).exists()) ? await Bun.file(file).json() : {}
  return {
    measured: name => kept[name] ?? null,
    once: async (name, measure) => {
      const known = kept[name]
      if (known) return known
      const measurement = await persistently(measure)
      kept[name] = measurement
      await replace(file, JSON.stringify(kept))
      return measurement
    },
  }
}

/** Repeats a measurement that fails: something else may have stalled the machine. */
async function persistently(measure: () => Promise<Measurement>): Promise<Measurement> {
  for (let left = TRIES - 1; left > 0; left--) {
    try {
      return await measure()
    } catch (error) {
      console.error(`${errorMessage(error)}; measuring again`)
    }
  }
  return await measure()
}

/** Leaves the old file or the new one, even if the program ends in between. */
async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await Bun.write(`${file}.new`, text)
  await rename(`${file}.new`, file)
}
