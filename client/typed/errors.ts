import * as written from '../errors.js'
import type * as declared from '../index.d.ts'

/** The error classes are as declared. (`index.js` is compared with the declarations where it is written.) */
export const errors: Omit<typeof declared, 'createClient' | 'tagOf'> = written
