import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'

/** A lower bound on the open descriptors, because the lowest free one is given out first. Much cheaper than counting. */
export function lowestFreeDescriptor(): number {
  try {
    const descriptor = openSync(devNull, 'r')
    closeSync(descriptor)
    return descriptor
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

export function openDescriptors(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return lowestFreeDescriptor()
  }
}

/**
 * The soft limit on Linux. Other systems do not tell it: only the limit on connections applies there. It is read at the start,
 * because that takes a descriptor.
 */
export const DESCRIPTORS_MAX = softLimit()

function softLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
