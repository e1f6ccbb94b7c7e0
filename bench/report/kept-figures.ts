import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Measurement } from '../comparison.ts'

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
      const measurement = await measure()
      kept[name] = measurement
      await replace(file, JSON.stringify(kept))
      return measurement
    },
  }
}

/** Leaves the old file or the new one, even if the program ends in between. */
async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await Bun.write(`${file}.new`, text)
  await rename(`${file}.new`, file)
}
