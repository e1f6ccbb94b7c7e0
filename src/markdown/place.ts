import type { Token } from 'markdown-it'
import type { CodeLines } from './code.ts'
import { type Reading, readingOf } from './cuts.ts'
import type { Dialect } from './dialect.ts'
import { buildSkeleton, type Frame, type Leaf, type Skeleton } from './frames.ts'
import type { References } from './references.ts'

/** A place in a text: what is before it is finished, what is behind it is open. */
export interface Place {
  /** The block quotes and lists that it stands in, the outermost first. */
  readonly frames: readonly Frame[]
  /** The code block that it stands in, after its first line. */
  readonly code: OpenCode | null
  readonly skeleton: Skeleton
  /** The last token before it, which may bear on how the first one after it is written. */
  readonly previous: Token | null
}

export interface OpenCode {
  readonly leaf: Leaf
  readonly lines: CodeLines
}

/** What the blocks of a stream are read and written with. */
export interface Workshop {
  readonly dialect: Dialect
  readonly references: References
}

/** Where a text begins. */
export const BEGINNING: Place = placeIn([], null)

/** A place between blocks, or within the leaf block given. */
export function placeIn(frames: readonly Frame[], previous: Token | null, leaf: Leaf | null = null): Place {
  return { frames, code: null, skeleton: buildSkeleton(frames, leaf), previous }
}

/** A place within a code block. */
export function placeInCode(frames: readonly Frame[], code: OpenCode): Place {
  return { frames, code, skeleton: buildSkeleton(frames, code.leaf), previous: null }
}

/** Reads the text behind a place into blocks; notes the definitions in it and how the lists around it are spaced now. */
export function read(text: string, place: Place, { dialect, references }: Workshop): Reading {
  const { skeleton } = place
  references.readAnew()
  const reading = readingOf(skeleton, text, source => dialect.blocks(source, references.definitions))
  for (const { spacing, probe } of skeleton.lists) spacing.loose = !reading.tokens[probe]?.hidden
  return reading
}

/** The tokens of a reading with the true last token before the place, in order to write those behind it. */
export function joined({ tokens, skeleton }: Reading, { previous, frames }: Place): Token[] {
  if (!previous || skeleton.tokens === 0) return tokens
  const around = frames.at(-1)
  if (previous.type === 'paragraph_close' && around?.kind === 'list') previous.hidden = !around.spacing.loose
  return tokens.with(skeleton.tokens - 1, previous)
}
