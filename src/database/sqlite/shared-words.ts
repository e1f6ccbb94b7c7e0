import { dlopen, FFIType, toArrayBuffer } from 'bun:ffi'
import { readSync, writeSync } from 'node:fs'

const PROT_READ = 1
const PROT_WRITE = 2
const MAP_SHARED = 1
const LIBC: Readonly<Partial<Record<NodeJS.Platform, string>>> = { linux: 'libc.so.6', darwin: 'libSystem.B.dylib' }

/**
 * The beginning of an open file, as words that all processes share. It is mapped into memory, so that neither a look nor a write
 * takes a system call; on systems whose C library is not known, it is read and written. The file must be at least that long, and
 * must not get shorter. `Bun.mmap` would not do: it opens the file and closes it again, which releases all locks that the
 * process holds on it.
 */
export class SharedWords implements Disposable {
  readonly #file: number
  readonly #unmap: (() => void) | null
  #words: Int32Array

  constructor(file: number, bytes: number, access: 'read' | 'write') {
    this.#file = file
    const mapped = mapFile(file, bytes, access === 'write' ? PROT_READ | PROT_WRITE : PROT_READ)
    this.#words = mapped?.words ?? new Int32Array(bytes / Int32Array.BYTES_PER_ELEMENT)
    this.#unmap = mapped?.unmap ?? null
  }

  /** The words as of the last `look`. */
  get words(): Int32Array {
    return this.#words
  }

  /** Brings `words` up to date. Returns false if they could not be read. */
  look(): boolean {
    if (this.#unmap) return true
    return readSync(this.#file, this.#words, 0, this.#words.byteLength, 0) === this.#words.byteLength
  }

  write(place: number, words: Int32Array): void {
    this.#words.set(words, place)
    if (!this.#unmap) writeSync(this.#file, words, 0, words.byteLength, place * Int32Array.BYTES_PER_ELEMENT)
  }

  [Symbol.dispose](): void {
    this.#unmap?.()
    // The old ones are not mapped any more, and reading them would crash.
    this.#words = new Int32Array(this.#words.length)
  }
}

function mapFile(file: number, bytes: number, protection: number) {
  const functions = libcFunctions()
  if (!functions) return null
  const address = functions.mmap(null, bytes, protection, MAP_SHARED, file, 0)
  // It fails with −1, which as an address is larger than any other.
  if (address === null || Number(address) > Number.MAX_SAFE_INTEGER) return null
  return {
    words: new Int32Array(toArrayBuffer(address, 0, bytes)),
    unmap: () => {
      functions.munmap(address, bytes)
    },
  }
}

function libcFunctions() {
  const name = LIBC[process.platform]
  if (name === undefined) return null
  try {
    return dlopen(name, {
      mmap: {
        args: [FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.i32, FFIType.i32, FFIType.i64],
        returns: FFIType.ptr,
      },
      munmap: { args: [FFIType.ptr, FFIType.u64], returns: FFIType.i32 },
    }).symbols
  } catch {
    // Some systems have another C library.
    return null
  }
}
