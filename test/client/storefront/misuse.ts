import createClient from 'openapi-fetch'
import type { paths } from './store-api.ts'

/** Misuse that must not compile. The compiler must refuse each marked line, and no other. */
export async function misuse(address: string): Promise<void> {
  const store = createClient<paths>({ baseUrl: address })
  const path = { category_id: 1 }

  await store.GET('/categories/{category_id}', { params: { path } })
  await store.GET('/categories', {}) // refused: there is no such path
  await store.GET('/categories/{category_id}/products', { params: { path } }) // refused: nor this one
  await store.GET('/categories/{category_id}', { params: { path: { category_id: '1' } } }) // refused: text for a number
  await store.GET('/categories/{category_id}', {}) // refused: no id
  await store.PATCH('/categories/{category_id}', { params: { path }, body: {} }) // refused: it is changed by PUT
  await store.DELETE('/categories/', {}) // refused: a collection is not deleted

  await store.GET('/products/', { params: { query: { skip: 10 } } })
  await store.GET('/products/', { params: { query: { page: 2 } } }) // refused: no such parameter
  await store.GET('/products/', { params: { query: { limit: 'all' } } }) // refused: text for a number
  await store.GET('/products/{category_id}/products', { params: { path, query: { skip: 1 } } }) // refused: it takes none

  await store.POST('/categories/', { body: { name: 'Garden', description: 'All for it' } })
  await store.POST('/categories/', { body: { name: 'Garden' } }) // refused: no description
  await store.POST('/categories/', { body: { name: 1, description: 'All for it' } }) // refused: a number for text
  await store.POST('/categories/', {}) // refused: no body

  const { data, error } = await store.GET('/users/{user_id}', { params: { path: { user_id: 1 } } })
  data?.name
  data?.password_hash // refused: no such field
  data.name // refused: there may be none
  error?.detail
  error?.message // refused: no such field
}
