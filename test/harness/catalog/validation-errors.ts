import { expect } from 'bun:test'
import type { Answer, Client } from '../client.ts'
import { everything } from './resources.ts'

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** An error's type and message, in FastAPI's words. */
export interface Fault {
  readonly type: string
  readonly msg: string
}

export type Loc = readonly (string | number)[]

export const missing: Fault = { type: 'missing', msg: 'Field required' }
export const notJson: Fault = { type: 'json_invalid', msg: 'JSON decode error' }
export const notAnObject: Fault = {
  type: 'model_attributes_type',
  msg: 'Input should be a valid dictionary or object to extract fields from',
}
export const notAString: Fault = { type: 'string_type', msg: 'Input should be a valid string' }
export const tooShort: Fault = { type: 'string_too_short', msg: 'String should have at least 3 characters' }
export const tooLong: Fault = { type: 'string_too_long', msg: 'String should have at most 50 characters' }
export const unreadable: Fault = {
  type: 'string_unicode',
  msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
}
export const notANumber: Fault = { type: 'float_type', msg: 'Input should be a valid number' }
export const notAnInteger: Fault = { type: 'int_type', msg: 'Input should be a valid integer' }
export const fraction: Fault = {
  type: 'int_from_float',
  msg: 'Input should be a valid integer, got a number with a fractional part',
}
export const notDigits: Fault = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer, unable to parse string as an integer',
}
export const tooLarge: Fault = {
  type: 'int_parsing_size',
  msg: 'Unable to parse input string as an integer, exceeded maximum size',
}
export const notFinite: Fault = { type: 'finite_number', msg: 'Input should be a finite number' }
export const notAboveZero: Fault = { type: 'greater_than', msg: 'Input should be greater than 0' }
export const belowZero: Fault = { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 0' }
export const belowOne: Fault = { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 1' }
export const aboveFive: Fault = { type: 'less_than_equal', msg: 'Input should be less than or equal to 5' }

/** An error as a 422 lists it. */
export function at(loc: Loc, fault: Fault) {
  return { loc, ...fault }
}

export function expectRefusal(answer: Answer, detail: readonly object[], row = ''): void {
  expect(answer.body, row).toEqual({ detail })
  expect(answer.status, row).toBe(422)
}

/** Sends a body that must be refused with exactly these errors and must change nothing. */
export async function isRefused(
  api: Client,
  method: string,
  path: string,
  json: string,
  detail: object[],
): Promise<void> {
  const before = await everything(api)
  expectRefusal(await sendJson(api, method, path, json), detail, `${method} ${path} ${json.slice(0, 200)}`)
  expect(await everything(api), `after ${method} ${path} ${json.slice(0, 200)}`).toEqual(before)
}

export function sendJson(api: Client, method: string, path: string, json: string): Promise<Answer> {
  return api.send(path, { method, body: json, headers: JSON_HEADERS })
}
