import { LIMIT_DEFAULT } from './statements.ts'

/**
 * The requests that the peers on Fastify validate. There are no schemas of responses, because Fastify's compiled serializers were
 * slower than V8's JSON.stringify (`list`: by a quarter).
 */

export interface Path {
  id: number
}

export interface Page {
  skip: number
  limit: number
}

export interface ProductCreate {
  name: string
  description: string
  price: number
}

export const params = { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }

export const querystring = {
  type: 'object',
  properties: {
    skip: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 0, default: LIMIT_DEFAULT },
  },
}

export const body = {
  type: 'object',
  required: ['name', 'description', 'price'],
  properties: {
    name: { type: 'string', minLength: 3, maxLength: 50 },
    description: { type: 'string' },
    price: { type: 'number', exclusiveMinimum: 0 },
  },
}

export const JSON_TYPE = 'application/json; charset=utf-8'
