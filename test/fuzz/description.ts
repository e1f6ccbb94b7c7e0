import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import { isJsonObject } from '../../src/json-object.ts'

/** The words of JSON Schema that our descriptions use. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly maxItems?: number
  readonly allOf?: readonly Schema[]
  readonly not?: Schema
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

interface ResponseDescription {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: Schema }>>
  readonly content?: Content
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface OperationObject {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, ResponseDescription>>
}

/** An operation with its references resolved. */
export interface Operation extends OperationObject {
  readonly method: string
  readonly path: string
}

/** Descriptions by their text. Most services have the same one, and its schemas are compiled only once. */
const known = new Map<string, readonly Operation[]>()

/** Reads an interface description from the service that it describes. */
export async function readDescription(address: string, path: string): Promise<readonly Operation[]> {
  const text = await (await fetch(address + path)).text()
  const operations = known.get(text) ?? operationsOf(JSON.parse(text))
  known.set(text, operations)
  return operations
}

function operationsOf(document: unknown): Operation[] {
  const { paths }: { paths: Record<string, Record<string, OperationObject>> } = JSON.parse(resolved(document))
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  )
}

/** The document with each reference replaced by what it refers to. Ours do not refer to themselves. */
function resolved(document: unknown): string {
  const whole = JSON.parse(JSON.stringify(document))
  return JSON.stringify(document, (_, value) => {
    const pointer: unknown = value?.$ref
    if (typeof pointer !== 'string') return value
    const [, ...names] = pointer.split('/')
    return names.reduce((at, name) => at[name], whole)
  })
}

const ajv = new Ajv({
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allErrors: true,
  unicodeRegExp: true,
})
const validators = new WeakMap<Schema, ValidateFunction>()
const validatorsByText = new Map<string, ValidateFunction>()

/** Why a value does not satisfy a schema; `null` if it does. */
export function problem(schema: Schema, value: unknown): string | null {
  const validate = validatorOf(schema)
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

/** The members of a value that break rules of the schema; an empty name stands for the whole value. */
export function wrongMembers(schema: Schema, value: unknown): Set<string> {
  const validate = validatorOf(schema)
  validate(value)
  const names = (validate.errors ?? []).flatMap(({ keyword, instancePath, params }) => {
    // It has neither of some members, of which the first is the one that is missed. What is no object has none, which counts once.
    if (keyword === 'not' && instancePath === '') {
      return isJsonObject(value) ? Object.keys(schema.not?.properties ?? {}).slice(0, 1) : []
    }
    return keyword === 'required' && instancePath === '' ? [String(params.missingProperty)] : [instancePath.slice(1)]
  })
  return new Set(names)
}

function validatorOf(schema: Schema): ValidateFunction {
  const known = validators.get(schema)
  if (known) return known
  // Many places have the same schema, such as that of a header field or of an error.
  const text = JSON.stringify(schema)
  const validate = validatorsByText.get(text) ?? ajv.compile(schema)
  validatorsByText.set(text, validate)
  validators.set(schema, validate)
  return validate
}
