import { dlopen, FFIType, toArrayBuffer } from 'bun:ffi'

const PROT_READ = 1
const MAP_SHARED = 1
const LIBC: Readonly<Partial<Record<NodeJS.Platform, string>>> = { linux: 'libc.so.6', darwin: 'libSystem.B.dylib' }

/** The beginning of a file as other processes see it at any moment. */
export interface MappedFile {
  readonly words: Int32Array
  /** The words must not be read after this. */
  readonly unmap: () => void
}

/**
 * Maps the beginning of an open file into memory, so that reading it takes no system call; `null` if this system's C library
 * is not known. The file must not get shorter meanwhile. `Bun.mmap` would not do: it opens the file and closes it again,
 * which releases all locks that the process holds on it.
 */
export function mapFile(descriptor: number, bytes: number): MappedFile | null {
  const functions = libcFunctions()
  if (!functions) return null
  const address = functions.mmap(null, bytes, PROT_READ, MAP_SHARED, descriptor, 0)
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
